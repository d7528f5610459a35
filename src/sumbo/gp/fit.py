"""Fits of the parameters: MAP by L-BFGS-B (the default), and the paper's Adam."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sumbo.errors import (
    ArgumentError,
    NotPositiveDefiniteError,
    require_positive_integer,
)
from sumbo.gp.adam import Slope, climb
from sumbo.gp.evidence import Evidence, Hyperparameters
from sumbo.linalg import one_blas_thread
from sumbo.rng import as_seed, rng_at
from sumbo.typing import Float, ndarray

# Mode of the prior of a length-scale: this times √d for a group of d coordinates of the
# unit cube. A fit ends here if the data do not determine it. It starts from
# ``model.DEFAULT_LENGTHSCALE``; one value for both would change the points of methods.
PRIOR_LENGTHSCALE = 0.4

# Iterations after which a start drawn at random is given up, unless it leads higher.
TRIAL = 15


@dataclass(frozen=True, kw_only=True)
class FitInfo:
    """What a fit did. ``events`` lists every retry, in order; empty if none.

    ``log_likelihood`` is that of the result; Adam's of one step before it.
    ``log_posterior`` adds the log prior density of the parameters relative to its
    mode; without a prior it is the log likelihood.
    """

    how: str
    log_likelihood: float
    log_posterior: float
    evaluations: int
    starts: int
    jitter: float = 0.0
    events: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Priors:
    """Normal priors on log-parameters, for a box of unit sides, standardised outputs.

    Each is given by its mode and its standard deviation in natural logarithms. The
    mode of a length-scale in a group of d coordinates grows as √d; [hvarfner2024].
    That of a part's variance is 1/M, so that a sum of any number of parts has a
    prior variance near that of the data.

    Attributes:
        lengthscale: Mode of a length-scale in a group of one coordinate, in units of
            the box.
        lengthscale_sd: Standard deviation of the logarithm of a length-scale.
        variance_sd: Standard deviation of the logarithm of a part's variance.
        noise: Mode of the noise variance, in units of the variance of the values.
        noise_sd: Standard deviation of the logarithm of the noise variance.
    """

    lengthscale: float = PRIOR_LENGTHSCALE
    lengthscale_sd: float = 0.7
    variance_sd: float = 1.5
    noise: float = 1e-5
    noise_sd: float = 1.5


# Where noise is expected: a tenth of the spread of the values.
NOISY = Priors(noise=1e-2)


class LogNormal(NamedTuple):
    """Independent normals on the log-parameters."""

    mean: Float[ndarray, " p"]
    sd: Float[ndarray, " p"]

    def log_density(
        self, theta: Float[ndarray, " p"]
    ) -> tuple[float, Float[ndarray, " p"]]:
        """Return log p(θ) up to a constant, and its gradient."""
        z = (theta - self.mean) / self.sd
        return float(-0.5 * z @ z), -z / self.sd


@dataclass(frozen=True, kw_only=True)
class MapFit:
    """Return the posterior mode by L-BFGS-B from several starts.

    Outputs are standardised inside, and inputs measured in units of the box, so the
    priors hold in any units. The constant mean is profiled out. If the model has a
    random constant, its variance becomes that of the outputs.

    Attributes:
        starts: Starting points; the first is the model's present parameters, and the
            others are only followed to the end where they lead higher.
        steps: Iterations of L-BFGS-B.
        spans: Side of the box per coordinate, or one number; default the data's range.
        priors: Means and widths of the log-normal priors.
        seed: Of the further starts, which are drawn from the prior.
    """

    starts: int = 3
    steps: int = 200
    spans: Any = None
    priors: Priors = Priors()
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive_integer("starts", self.starts)
        require_positive_integer("steps", self.steps)
        as_seed(self.seed)

    def __call__(
        self, evidence: Evidence, y: Float[ndarray, " N"], start: Hyperparameters
    ) -> tuple[Hyperparameters, FitInfo]:
        """Return fitted parameters and what was done."""
        center, scale = float(y.mean()), float(y.std())
        if not scale > 1e-12 * abs(center):  # constant up to rounding
            scale = 1.0
        z = (y - center) / scale
        spans = _spans_of_lengthscales(evidence, self.spans, len(start.lengthscales))
        sizes = _sizes_of_lengthscales(evidence, len(start.lengthscales))
        prior = self._prior(sizes, len(evidence.D))
        unit = replace(
            start,
            lengthscales=start.lengthscales / spans,
            variances=start.variances / scale**2,
            noise=max(start.noise / scale**2, 1e-6),
            constant=float(start.constant > 0),
        )
        with one_blas_thread():
            best, info = self._climb(
                evidence.rescaled(spans, scale), z, unit, prior, self._bounds(unit)
            )
        fitted = replace(
            best,
            lengthscales=best.lengthscales * spans,
            variances=best.variances * scale**2,
            noise=best.noise * scale**2,
            constant=best.constant * scale**2,
            mean=center + scale * best.mean,
        )
        shift = -len(y) * math.log(scale)  # of the density, back to the units of y
        return fitted, replace(
            info,
            log_likelihood=info.log_likelihood + shift,
            log_posterior=info.log_posterior + shift,
        )

    def _prior(self, sizes: Float[ndarray, " k"], M: int) -> LogNormal:
        p = self.priors
        mean = np.concatenate(
            [
                math.log(p.lengthscale) + 0.5 * np.log(sizes),
                np.full(M, -math.log(M)),
                [math.log(p.noise)],
            ]
        )
        sd = np.concatenate(
            [
                np.full(len(sizes), p.lengthscale_sd),
                np.full(M, p.variance_sd),
                [p.noise_sd],
            ]
        )
        return LogNormal(mean, sd)

    @staticmethod
    def _bounds(theta: Hyperparameters) -> list[tuple[float, float]]:
        # Wide enough never to bind on a sensible function, tight enough that no
        # evaluation overflows: outputs have unit variance, the box unit sides.
        return (
            [(math.log(5e-3), math.log(1e3))] * len(theta.lengthscales)
            + [(math.log(1e-8), math.log(1e4))] * len(theta.variances)
            + [(math.log(1e-6), math.log(10.0))]
        )

    def _climb(
        self,
        evidence: Evidence,
        z: Float[ndarray, " N"],
        start: Hyperparameters,
        prior: LogNormal,
        bounds: list[tuple[float, float]],
    ) -> tuple[Hyperparameters, FitInfo]:
        low, high = np.array(bounds).T
        seen = _Seen(evidence, z, start, prior)
        rng = rng_at(self.seed, "fit starts")
        events: list[str] = []
        for i in range(self.starts):
            theta = start.log() if i == 0 else _draw_start(rng, prior)
            steps = self.steps if i == 0 else min(TRIAL, self.steps)
            before = seen.score
            if not self._from(seen, np.clip(theta, low, high), bounds, steps):
                events.append(f"start {i}: not positive definite; drew from the prior")
                theta = _draw_start(rng, prior)
                if not self._from(seen, np.clip(theta, low, high), bounds, steps):
                    events.append(f"start {i}: failed again; kept the best so far")
            if steps < self.steps and seen.best and seen.score > before:
                self._from(seen, seen.best.log(), bounds, self.steps - steps)
        if seen.best is None:
            events.append("no start could be evaluated; kept the last good parameters")
            seen.best, seen.log_likelihood, seen.score = start, math.nan, math.nan
        if seen.jitter > 0:
            events.append(f"added jitter {seen.jitter:.1e} to the covariance")
        return seen.best, FitInfo(
            how="map",
            log_likelihood=seen.log_likelihood,
            log_posterior=seen.score,
            evaluations=seen.evaluations,
            starts=self.starts,
            jitter=seen.jitter,
            events=tuple(events),
        )

    def _from(
        self,
        seen: "_Seen",
        theta: Float[ndarray, " p"],
        bounds: list[tuple[float, float]],
        steps: int,
    ) -> bool:
        try:
            minimize(
                seen,
                theta,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": steps, "ftol": 1e-6, "gtol": 1e-4},
            )
        except NotPositiveDefiniteError:
            return False
        return True


class _Seen:
    """The negative log posterior per observation, remembering the best it saw."""

    def __init__(
        self,
        evidence: Evidence,
        z: Float[ndarray, " N"],
        layout: Hyperparameters,
        prior: LogNormal,
    ) -> None:
        self.evidence, self.z, self.layout, self.prior = evidence, z, layout, prior
        self.best: Hyperparameters | None = None
        self.score = -math.inf
        self.log_likelihood = -math.inf
        self.evaluations = 0
        self.jitter = 0.0

    def __call__(
        self, theta: Float[ndarray, " p"]
    ) -> tuple[float, Float[ndarray, " p"]]:
        parameters = self.layout.from_log(theta)
        value = self.evidence.evaluate(parameters, self.z, profile_mean=True)
        log_prior, prior_gradient = self.prior.log_density(theta)
        self.evaluations += 1
        self.jitter = max(self.jitter, value.jitter)
        score = value.log_likelihood + log_prior
        if score > self.score:
            self.score, self.log_likelihood = score, value.log_likelihood
            self.best = replace(parameters, mean=value.mean)
        n = len(self.z)
        return -score / n, -(value.gradient + prior_gradient) / n


@dataclass(frozen=True, kw_only=True)
class AdamFit:
    """Return parameters after a fixed number of Adam steps on the likelihood.

    This is the fit of [wycoff2025]: maximum likelihood in the log-parameters, step
    1e-4, 1 000 iterations, the mean kept. Each log-parameter moves by about 0.1 at
    most, so the starting values matter. Adam is [kingma2014] Alg. 1; most of its
    gradients are interpolated along the path, which changes log-parameters by less than
    1e-6, see ``gp.adam``.
    """

    steps: int = 1000
    step_size: float = 1e-4

    def __call__(
        self, evidence: Evidence, y: Float[ndarray, " N"], start: Hyperparameters
    ) -> tuple[Hyperparameters, FitInfo]:
        """Return fitted parameters and what was done.

        Raises:
            ArgumentError: If the starting noise is zero and has no logarithm.
        """
        if start.noise == 0:
            msg = "noise=0 cannot be fitted by Adam. Start from a small one, like 1e-2."
            raise ArgumentError(msg)

        def evaluate(theta: Float[ndarray, " p"]) -> Slope:
            value = evidence.evaluate(start.from_log(theta), y)
            return Slope(value.log_likelihood, value.gradient, value.jitter)

        with one_blas_thread():
            found = climb(evaluate, start.log(), self.steps, self.step_size)
        events: tuple[str, ...] = ()
        if found.failed_at:
            events = (f"step {found.failed_at}: not positive definite; went back one",)
        return start.from_log(found.theta), FitInfo(
            how="adam",
            log_likelihood=found.value,
            log_posterior=found.value,
            evaluations=found.evaluations,
            starts=1,
            jitter=found.jitter,
            events=events,
        )


FITS: Mapping[str, Callable[..., Any]] = {"map": MapFit, "adam": AdamFit}


def _draw_start(rng: np.random.Generator, prior: LogNormal) -> Float[ndarray, " p"]:
    # With half the prior's width: the tails are no useful start.
    return prior.mean + 0.5 * prior.sd * rng.standard_normal(len(prior.mean))


def _sizes_of_lengthscales(evidence: Evidence, k: int) -> Float[ndarray, " k"]:
    """Return the size of the (largest) group that each length-scale belongs to."""
    sizes = np.ones(k)
    for tie in evidence.ties:
        sizes[tie] = np.maximum(sizes[tie], len(tie))
    return sizes


def _spans_of_lengthscales(evidence: Evidence, spans: Any, k: int) -> Any:
    """Return the side of the box along the coordinate of each length-scale.

    Raises:
        ArgumentError: If ``spans`` is neither one number nor one per coordinate.
    """
    out = np.ones(k)
    P = 1 + max(max(group) for group in evidence.groups)
    if spans is not None:
        given = np.asarray(spans, dtype=np.float64)
        if given.ndim > 1 or given.size not in (1, P) or not (given > 0).all():
            msg = f"spans={spans!r} is not one positive number, or one per coordinate."
            raise ArgumentError(msg)
        given = np.broadcast_to(given, (P,))
        for tie, group in zip(evidence.ties, evidence.groups, strict=True):
            out[tie] = given[list(group)]
        return out
    for tie, D in zip(evidence.ties, evidence.D, strict=True):
        reach = np.sqrt(D.max(axis=1))
        out[tie] = np.where(reach > 0, reach, 1.0)
    return out
