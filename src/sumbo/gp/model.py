"""``AdditiveGP``: f(x) = c + Σ_m f_m(x_{I_m}), one Gaussian process per group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from sumbo.errors import ArgumentError, UnknownNameError
from sumbo.gp.anova import as_measures, orthogonal_kernels, require_inside
from sumbo.gp.arrays import as_data, as_variances, require_no_contradictions
from sumbo.gp.centred_evidence import OrthogonalEvidence
from sumbo.gp.evidence import Evidence, Hyperparameters
from sumbo.gp.fit import FITS, FitInfo
from sumbo.gp.posterior import Posterior
from sumbo.gp.solvers import Dense, Iterative, Projected, Solver
from sumbo.kernels import GroupKernel, as_kernel
from sumbo.registry import nearest
from sumbo.rng import rng_at
from sumbo.structure import as_groups, is_partition
from sumbo.typing import Float, Groups, Int, ndarray
from sumbo.values import require_real, without_labels

T = TypeVar("T")

SOLVERS: Mapping[str, Callable[..., Solver]] = {
    "exact": Dense.of,
    "iterative": Iterative.of,
    "projected": Projected.of,
}

# Where no length-scale is given, and where fits start: this times √d for a group of d
# coordinates of the unit cube. Values at opposite ends of a coordinate are then nearly
# independent (correlation 0.02, "matern52").
DEFAULT_LENGTHSCALE = 0.3

# A fit to more points uses a random subset of this many.
MOST_FITTED = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditiveGP:
    """A sum of independent Gaussian processes, each on a group of coordinates.

    Attributes:
        groups: The coordinates of each part; they cover all, and may overlap.
        kernel: ``"matern52"``, ``"matern32"``, ``"matern12"`` or ``"rbf"``.
        lengthscales: One per coordinate, shared by the groups that contain it, or
            one array per group. Default 0.3·√d of the group, and per group where
            groups overlap.
        variances: Prior variance of each part; default 1/M each.
        noise: Variance of the observation noise.
        mean: The constant c.
        orthogonal: Whether every part integrates to zero, see below.
        measure: With ``orthogonal``, the distribution of the coordinates: None for
            uniform on [0, 1], a pair (low, high) for each coordinate, or the search
            space (``Space``) whose unit cube the model lives in.
        constant: With ``orthogonal``, the prior variance of the constant around
            ``mean``; default 1. A MAP fit sets it to the variance of the values.
        info: What the fit did, if the parameters come from one.

    Data about a sum do not tell a constant in one part from one in another, nor a
    function of shared coordinates. With ``orthogonal=True`` each part is what an ANOVA
    calls an effect, and can be read as such: k of a part on one coordinate becomes
    ``k(a, b) − u(a) u(b)/c`` with u = ∫k and c = ∬k, the covariance of a function
    less its average; [lu2022]. A part of several parameters is a sum of products of
    such kernels, and holds the interactions, and main effects, that no smaller group
    holds (``sumbo.gp.anova``). What the parts lose is a random constant of its own,
    ``Posterior.constant``.

    An integral needs a distribution of the inputs, which no data give: the model takes
    it from ``measure``. With a search space an integer parameter is uniform over its
    levels where the unit coordinate has them, and a categorical one over its choices:
    its one-hot coordinates are one parameter, since they are never changed alone.

    Examples:
        >>> import numpy as np
        >>> import sumbo
        >>> X = np.random.default_rng(0).random((30, 2))
        >>> y = 5.0 + X[:, 0] + np.sin(3.0 * X[:, 1])
        >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], orthogonal=True).fit(X, y)
        >>> post = gp.condition(X, y)
        >>> nodes = (np.arange(1000)[:, None] + 0.5) / 1000
        >>> bool(abs(post.part_mean(0, nodes).mean()) < 1e-6)
        True
    """

    # Stored as the first type; __post_init__ accepts and checks what users pass.
    groups: Groups | Any
    kernel: str = "matern52"
    lengthscales: Any = None
    variances: Any = None
    noise: float | Any = 1e-2
    mean: float | Any = 0.0
    orthogonal: bool | Any = False
    measure: Any = field(default=None, repr=False)
    constant: float | Any = None
    info: FitInfo | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        put = object.__setattr__
        for name in ("lengthscales", "variances", "noise", "mean"):
            require_real(getattr(self, name), name)
            put(self, name, without_labels(getattr(self, name), name))
        given = self.lengthscales
        shared = _is_list(given) and len(given) > 0
        shared = shared and all(np.ndim(l) == 0 for l in given)
        dim = len(given) if shared else None
        groups = as_groups(self.groups, dim)
        put(self, "groups", groups)
        put(self, "lengthscales", _as_lengthscales(self.lengthscales, groups))
        put(self, "variances", _as_variances(self.variances, len(groups)))
        put(
            self, "noise", _as_number(self.noise, "noise", "a variance, 0 or more", 0.0)
        )
        put(self, "mean", _as_number(self.mean, "mean", "a finite number", None))
        self._check_orthogonal()

    def _check_orthogonal(self) -> None:
        """Check what belongs to orthogonal parts.

        Raises:
            ArgumentError: If it is given without them, or cannot be used.
        """
        put = object.__setattr__
        if not isinstance(self.orthogonal, (bool, np.bool_)):
            msg = f"orthogonal={self.orthogonal!r} is neither True nor False."
            raise ArgumentError(msg)
        if self.constant is None:
            put(self, "constant", 1.0 if self.orthogonal else 0.0)
        wanted = "a variance, 0 or more"
        put(self, "constant", _as_number(self.constant, "constant", wanted, 0.0))
        if self.orthogonal:
            put(self, "measure", as_measures(self.measure, self.dim))
            _ = self.kernels  # groups that cannot be orthogonal are refused here
        elif self.measure is not None or self.constant:
            name = "constant" if self.constant else "measure"
            msg = f"{name}={getattr(self, name)!r} needs orthogonal=True. Drop it, or "
            raise ArgumentError(f"{msg}pass orthogonal=True.")

    @classmethod
    def from_log(
        cls,
        groups: Groups,
        theta: Float[ndarray, " p"],
        mean: float,
        kernel: str = "matern52",
    ) -> "AdditiveGP":
        """Return the model whose ``hyperparameters()`` have the logarithms ``theta``.

        Length-scales are one per coordinate, and per group where groups overlap.
        """
        values = np.exp(theta)
        lengthscales: Any = values[: -len(groups) - 1]
        if not is_partition(groups):
            lengthscales = _cut(lengthscales, groups)
        return cls(
            groups=groups,
            kernel=kernel,
            lengthscales=lengthscales,
            variances=values[-len(groups) - 1 : -1],
            noise=values[-1],
            mean=mean,
        )

    @cached_property
    def dim(self) -> int:
        """The number of coordinates P."""
        return 1 + max(p for group in self.groups for p in group)

    @cached_property
    def kernels(self) -> tuple[GroupKernel, ...]:
        """The kernel of each part, length-scales and variance included."""
        kernel = as_kernel(self.kernel)
        if self.orthogonal:
            return orthogonal_kernels(
                kernel, self.groups, self.measure, self._by_group(), self.variances
            )
        return tuple(
            GroupKernel(kernel=kernel, lengthscales=l, variance=float(v))
            for l, v in zip(self._by_group(), self.variances, strict=True)
        )

    def condition(
        self, X: Any, y: Any, *, noise: Any = None, how: str = "exact", **settings: Any
    ) -> Posterior:
        """Return the posterior given observations.

        Args:
            X: Observed points (N, P).
            y: Observed values (N,).
            noise: Known variances of the observations (N,), 0 where there is none. The
                model's own noise variance is added to them.
            how: ``"exact"``, in O(N³), for up to about 10 000 points;
                ``"iterative"``, in nearly linear time, for 100 000 and more: it can
                ``predict`` and make joint draws; or ``"projected"``, on inducing
                points of every part: an approximation whose moments, gradients and
                draws take the same time whatever N is.
            settings: Of ``"iterative"``: ``inducing``, ``tolerance``, ``seed``, see
                ``sumbo.gp.solvers.Iterative.of``. Of ``"projected"``: ``anchors``, see
                ``sumbo.gp.solvers.Projected.of``.

        Examples:
            >>> import sumbo
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)], noise=1e-4)
            >>> post = gp.condition([[0.2, 0.7], [0.6, 0.1]], [1.3, 0.2])
            >>> post.predict_mean([[0.6, 0.1]]).round(2).tolist()
            [0.2]
        """
        noise = as_variances(noise, X, "noise")
        X, y = self._data(X, y)
        solver = _named(SOLVERS, how)
        _require_known(solver, how, settings)
        if self.noise == 0:
            require_no_contradictions(X, y, noise)
        solver = solver(self, X, known=noise, **settings)
        return Posterior(gp=self, X=X, y=y, solver=solver)

    def fit(
        self, X: Any, y: Any, *, noise: Any = None, how: str = "map", **settings: Any
    ) -> "AdditiveGP":
        """Return the model with fitted parameters; see ``info`` for what was done.

        A fit takes O(N³) per step. Of more than 2 000 points, 2 000 are drawn at
        random, the same for the same ``seed``; ``info.events`` then begins with it.

        Args:
            X: Observed points (N, P).
            y: Observed values (N,).
            noise: Known variances of the observations (N,), see ``condition``.
            how: ``"map"`` (L-BFGS-B on the posterior density, several starts) or
                ``"adam"`` (the paper's: maximum likelihood, 1 000 steps of 1e-4).
            settings: Fields of ``sumbo.gp.fit.MapFit`` or ``AdamFit``.

        Examples:
            >>> import numpy as np
            >>> import sumbo
            >>> X = np.random.default_rng(5).random((30, 2))
            >>> y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
            >>> gp = sumbo.AdditiveGP(groups=[(0,), (1,)]).fit(X, y)
            >>> bool(gp.noise < 1e-3)
            True
        """
        noise = as_variances(noise, X, "noise")
        X, y = self._data(X, y)
        fit = _named(FITS, how)
        _require_known(fit, how, settings)
        fitter = fit(**settings)
        chosen, events = _subset(len(X), getattr(fitter, "seed", 0))
        X, y = X[chosen], y[chosen]
        noise = None if noise is None else noise[chosen]
        theta, info = fitter(self.evidence(X, noise), y, self.hyperparameters())
        info = replace(info, events=(*events, *info.events))
        return self.with_hyperparameters(theta, info=info)

    def log_marginal_likelihood(self, X: Any, y: Any, *, noise: Any = None) -> float:
        """Return log p(y | X) at the model's parameters; [rasmussen2006] Eq. (5.8)."""
        return self.log_marginal_likelihood_and_gradient(X, y, noise=noise)[0]

    def log_marginal_likelihood_and_gradient(
        self, X: Any, y: Any, *, noise: Any = None
    ) -> tuple[float, Float[ndarray, " k"]]:
        """Return log p(y | X) and its gradient in the log-parameters.

        The order is: log length-scales (as stored, groups one after the other), log
        variances, log noise. ``noise`` are known variances, see ``condition``.

        Raises:
            ArgumentError: If the noise is zero and has no logarithm.
        """
        noise = as_variances(noise, X, "noise")
        X, y = self._data(X, y)
        if self.noise == 0:
            msg = "noise=0 has no logarithm. Pass a small noise, such as 1e-8."
            raise ArgumentError(msg)
        value = self.evidence(X, noise).evaluate(self.hyperparameters(), y)
        return value.log_likelihood, value.gradient

    def evidence(
        self, X: Float[ndarray, "N P"], noise: Float[ndarray, " N"] | None = None
    ) -> Evidence:
        """Return the likelihood of this structure on fixed inputs, for repeated use."""
        kernel, ties = as_kernel(self.kernel), self._ties()
        plain = Evidence.of(X, kernel, self.groups, ties, noise)
        if not self.orthogonal:
            return plain
        return OrthogonalEvidence.around(plain, X, self.measure)

    def hyperparameters(self) -> Hyperparameters:
        """Return the parameters as one flat set, in the order of the gradient."""
        flat = (
            self.lengthscales
            if isinstance(self.lengthscales, ndarray)
            else np.concatenate(self.lengthscales)
        )
        return Hyperparameters(
            lengthscales=flat,
            variances=self.variances,
            noise=self.noise,
            mean=self.mean,
            constant=self.constant,
        )

    def with_hyperparameters(
        self, theta: Hyperparameters, info: FitInfo | None = None
    ) -> "AdditiveGP":
        """Return the same structure with other parameters."""
        lengthscales: Any = theta.lengthscales
        if not isinstance(self.lengthscales, ndarray):
            lengthscales = _cut(theta.lengthscales, self.groups)
        return replace(
            self,
            lengthscales=lengthscales,
            variances=theta.variances,
            noise=theta.noise,
            mean=theta.mean,
            constant=theta.constant,
            info=info,
        )

    def _data(self, X: Any, y: Any) -> tuple[Float[ndarray, "N P"], Any]:
        """Return checked observations, inside of the measure of the parts."""
        X, y = as_data(X, y, self.dim)
        if self.orthogonal:
            require_inside(X, self.measure)
        return X, y

    def _by_group(self) -> list[Float[ndarray, "..."]]:
        if isinstance(self.lengthscales, ndarray):
            return [self.lengthscales[list(group)] for group in self.groups]
        return list(self.lengthscales)

    def _ties(self) -> tuple[Int[ndarray, "..."], ...]:
        """Return, per group, which flat length-scale each of its coordinates uses."""
        if isinstance(self.lengthscales, ndarray):
            return tuple(np.array(group) for group in self.groups)
        ends = np.cumsum([len(group) for group in self.groups])
        return tuple(
            np.arange(end - len(group), end)
            for group, end in zip(self.groups, ends, strict=True)
        )


def _named(options: Mapping[str, T], how: str) -> T:
    """Return the option called ``how``.

    Raises:
        UnknownNameError: If there is none; the nearest names are suggested.
    """
    if how not in options:
        msg = f"how={how!r} is unknown. {nearest(str(how), options)}"
        raise UnknownNameError(msg)
    return options[how]


def _require_known(options: Callable[..., Any], how: str, settings: Any) -> None:
    """Check that all settings are keyword arguments.

    Raises:
        ArgumentError: If one is not; the nearest names are suggested.
    """
    for name in settings:
        known = _settings_of(options)
        if name not in known:
            hint = nearest(name, known) if known else "It has no settings."
            msg = f"{name}={settings[name]!r} is no setting of how={how!r}. {hint}"
            raise ArgumentError(msg)


@cache
def _settings_of(options: Callable[..., Any]) -> tuple[str, ...]:
    """Return the keyword arguments, read once: it costs as much as a likelihood."""
    parameters = signature(options).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def _cut(
    flat: Float[ndarray, " k"], groups: Groups
) -> tuple[Float[ndarray, "..."], ...]:
    """Return flat length-scales group by group."""
    return tuple(np.split(flat, np.cumsum([len(group) for group in groups])[:-1]))


def _subset(N: int, seed: int) -> tuple[Any, tuple[str, ...]]:
    """Return which points a fit uses, and what to say about it."""
    if N <= MOST_FITTED:
        return slice(None), ()
    rng = rng_at(seed, "fit subset")
    chosen = np.sort(rng.choice(N, size=MOST_FITTED, replace=False))
    return chosen, (f"fitted to {MOST_FITTED} of {N} points, drawn at random",)


def _is_list(value: Any) -> bool:
    # NumPy has no dimension for a list of arrays of unequal sizes; it raises.
    return isinstance(value, (list, tuple)) or np.ndim(value) > 0


def _as_lengthscales(value: Any, groups: Groups) -> Any:
    dim = 1 + max(p for group in groups for p in group)
    if value is None:
        if not is_partition(groups):
            sizes = [len(g) for g in groups]
            value = [np.full(d, DEFAULT_LENGTHSCALE * np.sqrt(d)) for d in sizes]
        else:
            value = np.empty(dim)
            for group in groups:
                value[list(group)] = DEFAULT_LENGTHSCALE * np.sqrt(len(group))
    if not _is_list(value):
        value = np.full(dim, value)
    if all(np.ndim(l) == 0 for l in value):
        flat = _as_positive(value, "lengthscales")
        if flat.shape != (dim,):
            msg = (
                f"lengthscales has {flat.size} values for {dim} coordinates. Pass one "
                "per coordinate, or one array per group."
            )
            raise ArgumentError(msg)
        return flat
    out = _as_arrays(value)
    sizes = tuple(len(l) for l in out)
    if sizes != tuple(len(group) for group in groups):
        msg = (
            f"lengthscales hold arrays of sizes {sizes}, groups have sizes "
            f"{tuple(len(g) for g in groups)}. Pass one value per coordinate of each."
        )
        raise ArgumentError(msg)
    return out


def _as_arrays(value: Any) -> tuple[Float[ndarray, "..."], ...]:
    """Return one array of length-scales per group, checked."""
    plain = all(isinstance(l, ndarray) and l.dtype == np.float64 for l in value)
    if plain and all(l.ndim == 1 for l in value):
        # One check of all: every ask builds a model, whose groups may be many.
        flat = np.concatenate(value)
        if (np.isfinite(flat) & (flat > 0)).all():
            flat.setflags(write=False)
            ends = np.cumsum([len(l) for l in value]).tolist()
            return tuple(flat[e - len(l) : e] for e, l in zip(ends, value, strict=True))
    return tuple(_as_positive(l, f"lengthscales[{m}]", 1) for m, l in enumerate(value))


def _as_variances(value: Any, M: int) -> Float[ndarray, " M"]:
    if value is None:
        value = 1.0 / M
    if np.ndim(value) == 0:
        value = np.full(M, value)
    out = _as_positive(value, "variances")
    if out.shape != (M,):
        msg = f"variances has {out.size} values for {M} groups. Pass one per group."
        raise ArgumentError(msg)
    return out


def _as_positive(value: Any, name: str, ndmin: int = 0) -> Float[ndarray, "..."]:
    try:
        out = np.array(value, dtype=np.float64, ndmin=ndmin)
    except (TypeError, ValueError) as error:
        msg = f"{name}={value!r} is not an array of numbers."
        raise ArgumentError(msg) from error
    if not (np.isfinite(out) & (out > 0)).all():
        msg = f"{name}={value!r} must be positive and finite, every value of it."
        raise ArgumentError(msg)
    out.setflags(write=False)
    return out


def _as_number(value: Any, name: str, wanted: str, low: float | None) -> float:
    try:
        out = float(value)
    except (TypeError, ValueError):
        out = np.nan
    if not np.isfinite(out) or (low is not None and out < low):
        msg = f"{name}={value!r} is not {wanted}."
        raise ArgumentError(msg)
    return out
