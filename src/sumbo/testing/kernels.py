"""What every kernel promises."""

import numpy as np

from sumbo.kernels import KERNELS, GroupKernel, Kernel, as_kernel
from sumbo.rng import rng_at
from sumbo.testing.claims import claim, require, require_same_bits

# Draws for the test of the spectral density, and how many standard errors its mean
# may be off: 5 σ on 12 distances is a false alarm for 7e-6 of all kernels.
DRAWS = 20_000
SIGMAS = 5.0


def check_kernel(name: str) -> None:
    """Check everything that a registered kernel promises."""
    with claim(f"kernel {name!r}"):
        kernel = as_kernel(name)
        require(isinstance(kernel, Kernel), "lacks a part of Kernel")
        require(kernel.name == name, f"calls itself {kernel.name!r}")
        require((KERNELS.get(name).__doc__ or "").strip(), "has no docstring")
        _check_correlation(kernel)
        _check_weight(kernel)
        _check_gram(kernel)
        for d in (1, 3):
            _check_spectral(kernel, d)


def _check_correlation(kernel: Kernel) -> None:
    s = np.concatenate([[0.0], np.geomspace(1e-9, 1e5, 57)]).reshape(2, 29)
    s.setflags(write=False)
    k = kernel.correlation(s)
    require(k.shape == s.shape, f"maps shape {s.shape} to {k.shape}")
    require(np.isfinite(k).all(), "is not finite everywhere")
    require(k[0, 0] == 1.0, f"is {k[0, 0]} at distance 0, not 1")
    require(abs(k.ravel()[-1]) < 1e-6, "does not vanish far away")
    both, _ = kernel.correlation_and_weight(s)
    close = np.allclose(both, k, rtol=1e-12, atol=1e-300)
    require(close, "correlation and correlation_and_weight differ")


def _check_weight(kernel: Kernel) -> None:
    s = np.linspace(0.07, 8.3, 40)
    s.setflags(write=False)
    h = 1e-6
    slope = (kernel.correlation(s + h) - kernel.correlation(s - h)) / (2 * h)
    _, w = kernel.correlation_and_weight(s)
    # Central differences: truncation h², rounding eps/h.
    close = np.allclose(w, -2 * slope, rtol=1e-6, atol=1e-9)
    require(close, "its weight is not −2 times its slope")
    _, at_zero = kernel.correlation_and_weight(np.zeros(2))
    require(np.isfinite(at_zero).all(), "its weight is not finite at distance 0")


def _check_gram(kernel: Kernel) -> None:
    rng = rng_at(17, "testing/gram")
    for d in (1, 2, 3):
        A = rng.uniform(-0.4, 1.7, (25, d))
        group = GroupKernel(
            kernel=kernel, lengthscales=rng.uniform(0.2, 1.1, d), variance=2.3
        )
        K = group(A, A)
        require(np.allclose(K, K.T, rtol=1e-13), f"is not symmetric for d = {d}")
        lowest = float(np.linalg.eigvalsh(K).min())
        # Rounding: n · eps · λ_max ≈ 25 · 2e-16 · 60.
        require(lowest > -1e-12, f"has the eigenvalue {lowest:g} for d = {d}")


def _check_spectral(kernel: Kernel, d: int) -> None:
    omega = kernel.spectral(rng_at(19, "testing/spectral", d), DRAWS, d)
    again = kernel.spectral(rng_at(19, "testing/spectral", d), DRAWS, d)
    require(omega.shape == (DRAWS, d), f"spectral returned shape {omega.shape}")
    require_same_bits(omega, again, "spectral draws with one generator differ")
    steps = rng_at(23, "testing/steps", d).uniform(-1.6, 2.1, (6, d))
    waves = np.cos(omega @ steps.T)
    wanted = kernel.correlation((steps**2).sum(axis=1))
    error = (waves.mean(axis=0) - wanted) / (waves.std(axis=0) / np.sqrt(DRAWS))
    worst = float(np.abs(error).max())
    require(
        worst < SIGMAS,
        f"E cos(ω·a) of its spectral draws is {worst:.1f} standard errors away from "
        f"its correlation for d = {d}",
    )
