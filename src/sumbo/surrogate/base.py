"""``Surrogate``: the model of the objective, given all observations."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sumbo.data import Data, Measured, Transform
from sumbo.gp import AdditiveGP, Posterior
from sumbo.state import SAVED_IF_SET, State
from sumbo.typing import Bool, Domain, Float, Groups, ndarray


@dataclass(frozen=True, kw_only=True)
class EstimatedNoise:
    """When estimated noise is considerable, so that a point may repeat.

    Attributes:
        share: Smallest considerable noise variance, in units of the variance of the
            values.
        fewest: Fewest observations with which estimated noise counts. A fit to few
            values often takes a deterministic function for noise.
    """

    share: float = 0.05
    fewest: int = 30


CONSIDERABLE = EstimatedNoise()


@dataclass(frozen=True, kw_only=True, eq=False)
class Surrogate:
    """What the last refit chose, conditioned on all observations.

    Attributes:
        posteriors: One posterior for each plausible structure, that of the structure
            which was drawn first. Points are in the unit cube, values in model units.
        weights: Their probabilities.
        data: The observations in the units of the model.
        structures: Groups of parameters that structure learning visited lately.
        co_membership: How probable it is that two parameters share a group, if known.
        refitted: Whether this call refitted the model.
        fits: How many fits of hyperparameters this call made.
        fit_cpu_s: The CPU time of the refit, in seconds.
        events: What happened during the fits, such as retries.
        outcomes: The models of outcomes that have limits.
    """

    posteriors: tuple[Posterior, ...]
    weights: Float[ndarray, " S"]
    data: Data
    structures: tuple[Groups, ...] = ()
    co_membership: Float[ndarray, "K K"] | None = None
    refitted: bool = False
    fits: int = 0
    fit_cpu_s: float = 0.0
    events: tuple[str, ...] = ()
    outcomes: tuple["OutcomeModel", ...] = ()

    @property
    def posterior(self) -> Posterior:
        """The posterior of the structure that was drawn."""
        return self.posteriors[0]

    @property
    def groups(self) -> Groups:
        """The structure that was drawn, in unit-cube coordinates."""
        return self.posterior.gp.groups

    @property
    def transform(self) -> Transform:
        """The transform between the user's values and model units."""
        return self.data.transform

    @property
    def noisy(self) -> bool:
        """Whether a noise is known, or considerable noise is estimated."""
        level = CONSIDERABLE.share * float(self.data.y.var())
        known = self.data.noise
        fitted = self.posterior.gp.noise >= level > 0
        enough = len(self.data.y) >= CONSIDERABLE.fewest
        told = known is not None and bool((known > 0).any())
        return told or (fitted and enough)

    def fantasised(self, U: Float[ndarray, "n P"]) -> "Surrogate":
        """Return the surrogate with each posterior's own mean observed at ``U``.

        The mean stays and the variance shrinks around the points, so that the next
        point is looked for elsewhere; the kriging believer of [desautels2014].
        """
        if len(U) == 0:
            return self
        noise = self.data.noise
        if noise is not None:
            # A pending value will be about as noisy as those that are known.
            noise = np.full(len(U), float(np.median(noise)))
        posteriors = tuple(
            p.append(U, p.predict(U)[0], noise=noise) for p in self.posteriors
        )
        outcomes = tuple(
            replace(model, surrogate=model.surrogate.fantasised(U))
            for model in self.outcomes
        )
        return replace(self, posteriors=posteriors, outcomes=outcomes)

    def feasible_rows(self, post: Posterior) -> Bool[ndarray, " n"]:
        """Return which rows of a posterior meet all constraints.

        Observed rows by what was measured, fantasised ones by the predicted outcomes.
        """
        N = len(self.data.y)
        out = np.ones(post.N, dtype=bool)
        if self.data.violation is not None:
            out[:N] = self.data.violation == 0
        for model in self.outcomes:
            out[N:] &= model.violation(model.surrogate.posterior, post.X[N:]) == 0
        return out


@dataclass(frozen=True, kw_only=True, eq=False)
class OutcomeModel:
    """The model of an outcome, and its limits in the units of the model.

    Attributes:
        surrogate: The model.
        lower: The lower limit, −inf if there is none.
        upper: The upper limit, inf if there is none.
    """

    surrogate: Surrogate
    lower: float
    upper: float

    @classmethod
    def of(cls, surrogate: Surrogate, measured: Measured) -> "OutcomeModel":
        """Return the model of an outcome from its surrogate."""
        return cls(
            surrogate=surrogate,
            lower=_forward(surrogate.transform, measured.lower),
            upper=_forward(surrogate.transform, measured.upper),
        )

    def violation(
        self, post: Posterior, U: Float[ndarray, "n P"]
    ) -> Float[ndarray, " n"]:
        """Return by how much the posterior mean breaks the limits at points."""
        return beyond(post.predict_mean(U), self.lower, self.upper)


def beyond(
    values: Float[ndarray, "*n"],
    lower: float | Float[ndarray, "*n"],
    upper: float | Float[ndarray, "*n"],
) -> Float[ndarray, "*n"]:
    """Return by how much values break limits, 0 where they do not."""
    return np.maximum(np.maximum(lower - values, values - upper), 0.0)


def _forward(transform: Transform, limit: float) -> float:
    return (
        float(transform.forward(np.array([limit]))[0]) if np.isfinite(limit) else limit
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit(State):
    """A fitted model as a state holds it.

    Attributes:
        groups: Groups of unit-cube coordinates.
        kernel: The name of the kernel.
        log_theta: Logarithms of the hyperparameters.
        mean: The constant mean.
        weight: The probability of the structure.
        orthogonal: Whether the parts are orthogonal.
        constant: The variance of a random constant.
    """

    groups: Groups
    kernel: str
    log_theta: Float[ndarray, " p"]
    mean: float
    weight: float = 1.0
    orthogonal: bool = field(default=False, metadata=SAVED_IF_SET)
    constant: float = field(default=0.0, metadata=SAVED_IF_SET)

    @classmethod
    def of(cls, gp: AdditiveGP, weight: float = 1.0) -> "Fit":
        """Return what a state holds of a model."""
        return cls(
            groups=gp.groups,
            kernel=gp.kernel,
            log_theta=gp.hyperparameters().log(),
            mean=gp.mean,
            weight=weight,
            orthogonal=gp.orthogonal,
            constant=gp.constant,
        )

    @cached_property
    def gp(self) -> AdditiveGP:
        """The model, rounded as if it came from a file: resuming is exact.

        Its parts are plain ones, see ``over``.
        """
        return AdditiveGP.from_log(self.groups, self.log_theta, self.mean, self.kernel)

    def over(self, domain: Domain) -> AdditiveGP:
        """Return the model on a domain, which orthogonal parts are integrated over."""
        if not self.orthogonal:
            return self.gp
        return replace(self.gp, orthogonal=True, measure=domain, constant=self.constant)


def single(
    posterior: Posterior, data: Data, structures: tuple[Groups, ...] = ()
) -> Surrogate:
    """Return a surrogate with one structure."""
    return Surrogate(
        posteriors=(posterior,),
        weights=np.ones(1),
        data=data,
        structures=structures,
    )
