"""Cholesky factors, in place, with a jitter ladder that reports what it added."""

import ctypes
import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg as scipy_linalg
from threadpoolctl import ThreadpoolController

from sumbo.errors import NotPositiveDefiniteError
from sumbo.typing import Float, ndarray

# SciPy makes these at import time, where no type checker sees them.
lapack: Any = scipy_linalg.lapack
blas: Any = scipy_linalg.blas

A_ = TypeVar("A_")
B_ = TypeVar("B_")

# Relative to the mean of the diagonal. Rounding makes the smallest eigenvalue of a
# smooth kernel's Gram matrix about −n·eps·λ_max; 1e-10 covers n = 1 000.
LADDER = (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)

# Rows from which on a product is long enough to release the interpreter's lock for.
# Below, SciPy's wrappers, which hold it, are quicker to call.
LARGE = 256

# Arguments of the routines called without SciPy's wrappers. A matrix of another layout
# would be read and written at wrong places.
_FLAG, _INT = ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)
_DOUBLE = ctypes.POINTER(ctypes.c_double)
_READ = np.ctypeslib.ndpointer(np.float64, 2, flags=["F_CONTIGUOUS"])
_WRITE = np.ctypeslib.ndpointer(np.float64, 2, flags=["F_CONTIGUOUS", "WRITEABLE"])
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "dpotrf": (_FLAG, _INT, _WRITE, _INT, _INT),
    "dtrmv": (_FLAG, _FLAG, _FLAG, _INT, _READ, _INT, _WRITE, _INT),
    "dtrmm": (*[_FLAG] * 4, _INT, _INT, _DOUBLE, _READ, _INT, _WRITE, _INT),
}


class CholeskyFactor(NamedTuple):
    """A lower Cholesky factor and the jitter that was added to the diagonal."""

    L: Float[ndarray, "n n"]
    jitter: float


def cholesky(
    A: Float[ndarray, "n n"],
    ladder: Sequence[float] = LADDER,
    what: str = "matrix",
    scale: float | None = None,
) -> CholeskyFactor:
    """Return the factor of the symmetric matrix whose lower triangle is ``A``'s.

    Jitter is relative to ``scale``, the mean of the diagonal by default. Pass the
    prior's scale where ``A`` is a difference of covariances: what is left may be
    rounding alone, and no measure of its own error.

    Raises:
        NotPositiveDefiniteError: If the last rung of the ladder is not enough.
    """
    jitter = 0.0
    for rung in ladder:
        work = np.array(A, order="F")
        if rung:
            if scale is None:
                scale = float(A.diagonal().mean())
            jitter = rung * scale
            np.fill_diagonal(work, A.diagonal() + jitter)
        L, info = lapack.dpotrf(work, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(L.diagonal().sum()):
            return CholeskyFactor(L, jitter)
    msg = (
        f"the {len(A)} × {len(A)} {what} is not positive definite, even with "
        f"{ladder[-1]:g} of its mean diagonal added. Raise the noise, or remove "
        "nearly equal points."
    )
    raise NotPositiveDefiniteError(msg)


def factor_in_place(A: Float[ndarray, "n n"]) -> bool:
    """Return whether the lower triangle of Fortran-ordered ``A`` became its factor.

    The strict upper triangle is left as it was: multiply with ``times_lower``.
    """
    n, info = ctypes.c_int(len(A)), ctypes.c_int(0)
    _routine("lapack", "dpotrf")(b"L", n, A, n, info)
    return info.value == 0


@cache
def _routine(library: str, name: str) -> Callable[..., None]:
    """Return a routine as SciPy exports it to Cython; arguments go by reference.

    SciPy's own wrappers hold the interpreter lock: threads would wait in turn.
    """
    api: Any = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    exported: Any = importlib.import_module(f"scipy.linalg.cython_{library}")
    capsule = exported.__pyx_capi__[name]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *_ARGUMENTS[name])(pointer)


def unpack_lower(packed: Float[ndarray, " T"], n: int) -> Float[ndarray, "n n"]:
    """Return the matrix whose lower triangle is packed column by column."""
    return lapack.dtpttr(n, packed, uplo="L")[0]


def pack_lower(A: Float[ndarray, "n n"]) -> Float[ndarray, " T"]:
    """Return the lower triangle of ``A``, column by column."""
    return lapack.dtrttp(A, uplo="L")[0]


def cho_solve(
    L: Float[ndarray, "n n"], b: Float[ndarray, "n *k"]
) -> Float[ndarray, "n *k"]:
    """Return (L Lᵀ)⁻¹ b."""
    x, _ = lapack.dpotrs(L, b, lower=1)
    return x


def solve_lower(
    L: Float[ndarray, "n n"], b: Float[ndarray, "n *k"]
) -> Float[ndarray, "n *k"]:
    """Return L⁻¹ b."""
    x, _ = lapack.dtrtrs(L, b, lower=1)
    return x


def solve_upper(
    L: Float[ndarray, "n n"], b: Float[ndarray, "n *k"]
) -> Float[ndarray, "n *k"]:
    """Return L⁻ᵀ b."""
    x, _ = lapack.dtrtrs(L, b, lower=1, trans=1)
    return x


def times_lower(
    L: Float[ndarray, "n n"], B: Float[ndarray, "n k"]
) -> Float[ndarray, "n k"]:
    """Return L B, reading only the lower triangle of ``L``."""
    if len(L) < LARGE:
        if B.shape[1] == 1:
            return blas.dtrmv(L, B[:, 0], lower=1)[:, None]
        return blas.dtrmm(1.0, L, B, lower=1)
    L, out = np.asfortranarray(L), np.array(B, order="F")
    n, k, one = ctypes.c_int(len(L)), ctypes.c_int(B.shape[1]), ctypes.c_int(1)
    if k.value == 1:
        _routine("blas", "dtrmv")(b"L", b"N", b"N", n, L, n, out, one)
    elif out.size:  # BLAS takes no empty matrices
        alpha = ctypes.c_double(1.0)
        side = (b"L", b"L", b"N", b"N")
        _routine("blas", "dtrmm")(*side, n, k, alpha, L, n, out, n)
    return out


def inverse_lower(L: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """Return (L Lᵀ)⁻¹; only its lower triangle has a meaning."""
    inverse, _ = lapack.dpotri(L, lower=1)
    return inverse


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: faster at our sizes, and the same bits everywhere."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def parallel_map(f: Callable[[A_], B_], items: Sequence[A_], workers: int) -> list[B_]:
    """Return ``[f(a) for a in items]``, in order, on up to ``workers`` threads.

    NumPy, ``factor_in_place`` and ``times_lower`` release the interpreter lock, so
    groups are factorized and drawn side by side.
    """
    if workers <= 1 or len(items) <= 1:
        return [f(a) for a in items]
    with ThreadPoolExecutor(max_workers=min(workers, len(items))) as pool:
        futures: list[Any] = [pool.submit(f, a) for a in items]
        return [future.result() for future in futures]
