"""Groups and parameters learned together: likelihood search and Gibbs in turn."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from sumbo.data import Data, Transform
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.gp import AdditiveGP
from sumbo.gp.evidence import Evidence, Hyperparameters
from sumbo.kernels import as_kernel
from sumbo.linalg import one_blas_thread
from sumbo.partitions.density import distances, log_density
from sumbo.partitions.gibbs import LabelModel, random_labels
from sumbo.rng import rng_at
from sumbo.state import State
from sumbo.structure import expand, groups_from_labels
from sumbo.surrogate.base import Surrogate, single
from sumbo.surrogate.transform import Scale, rescale
from sumbo.typing import Float, Groups, Int, ndarray

# The box of the log-parameters, for points of the unit cube and y of unit variance.
LENGTHSCALES = (-5.0, 0.0)
VARIANCES = (-5.0, 2.0)
NOISE = (-10.0, 1.0)
# Where the first search starts besides its random points.
FIRST_NOISE = 1e-2
# Most observations that structure learning uses: each label that is tried costs O(N³).
MOST = 750


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelling(State):
    """Labels of the K parameters, and logarithms of what the kernels need.

    Attributes:
        labels: Parameters with equal labels form a group.
        lengthscales: One per parameter; equal within a fitted group.
        variances: One per label, used or not.
        noise: That of the observations.
    """

    labels: Int[ndarray, " K"]
    lengthscales: Float[ndarray, " K"]
    variances: Float[ndarray, " K"]
    noise: float


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledState(State):
    """What the last refit chose.

    Attributes:
        fitted_at: The number of observations then.
        scale: The transform.
        labelling: Groups and hyperparameters.
    """

    fitted_at: int
    scale: Scale
    labelling: Labelling


@dataclass(frozen=True, kw_only=True)
class LabelledModel:
    """Settings of an additive model whose groups are learned; [wang2017skl].

    Squared-exponential kernels, one length-scale and variance per group, mean 0.
    ``rounds`` times: maximise the likelihood in the parameters, then search the
    labels by Gibbs sweeps. In all rounds but the last, one length-scale and one
    variance serve all groups: parameters that are fitted to a wrong group favour that
    group.

    Attributes:
        refit: Observations after which structure and parameters are learned again.
        max_size: Most parameters in a group.
        rounds: Alternations of parameter search and label search.
        sweeps: Gibbs sweeps over all parameters in each round.
        concentration: Of the prior on labels; larger values favour groups of equal
            size.
        random_starts: Random parameters scored before each likelihood search.
        steps: Most iterations of L-BFGS-B in each likelihood search.
    """

    refit: int = 10
    max_size: int = 5
    rounds: int = 3
    sweeps: int = 10
    concentration: float = 1.0
    random_starts: int = 100
    steps: int = 50

    remembers: ClassVar[type[State] | None] = LabelledState

    def __post_init__(self) -> None:
        for name in ("refit", "max_size", "rounds", "sweeps", "random_starts", "steps"):
            require_positive_integer(name, getattr(self, name))
        if not (np.isfinite(self.concentration) and self.concentration > 0):
            msg = f"concentration={self.concentration!r} is not a positive number."
            raise ArgumentError(msg)

    def update(
        self,
        rng: np.random.Generator,
        state: LabelledState | None,
        data: Data,
        q: int = 1,
    ) -> tuple[Surrogate, LabelledState]:
        """Return the surrogate given all data, refitted if that is due."""
        due = state is None or len(data.y) >= self.next_refit(state.fitted_at, q)
        if state is not None and not due:
            return self._condition(state, data), state
        begin = time.process_time()
        data, scale, fits = rescale(data, state.scale if state else None)
        start = state.labelling if state else None
        with one_blas_thread():
            learned = self.learn(rng, data.U, data.y, data.domain.blocks, start)
        state = LabelledState(fitted_at=len(data.y), scale=scale, labelling=learned)
        surrogate = replace(
            self._condition(state, data),
            refitted=True,
            # Each search of the hyperparameters climbs from two starts.
            fits=fits + 2 * (self.rounds + 1),
            fit_cpu_s=time.process_time() - begin,
        )
        return surrogate, state

    def next_refit(self, fitted_at: int, q: int = 1) -> int:
        """Return the number of observations at which the next refit is due."""
        del q
        return fitted_at + self.refit

    def surrogate(self, state: LabelledState | None, data: Data) -> Surrogate | None:
        """Return the surrogate given all data, with what the last refit chose.

        If there was none, as after an initial design only, the model is fitted.
        """
        if (~data.failed).sum() < 2:
            return None
        if state is None:
            return self.update(rng_at(0, "surrogate"), None, data)[0]
        return self._condition(state, data)

    def structures(self, state: LabelledState | None) -> tuple[Groups, ...]:
        """Return the groups of parameters that were learned last."""
        return (groups_from_labels(state.labelling.labels),) if state else ()

    def transform(self, state: LabelledState | None) -> Transform | None:
        """Return the transform that stands until the next refit."""
        return state.scale.transform if state else None

    def _condition(self, state: LabelledState, data: Data) -> Surrogate:
        data = data.under(state.scale.transform)
        gp = as_model(state.labelling, data.domain.blocks)
        return single(
            gp.condition(data.U, data.y, noise=data.noise), data, self.structures(state)
        )

    def learn(
        self,
        rng: np.random.Generator,
        U: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        blocks: Groups,
        start: Labelling | None = None,
    ) -> Labelling:
        """Return labels and parameters near a maximum of the posterior."""
        if len(y) > MOST:
            rows = np.linspace(0, len(y) - 1, MOST).round().astype(int)
            U, y = U[rows], y[rows]
        now = start or _first(rng, len(blocks), self.max_size)
        for left in range(self.rounds, 0, -1):
            now = self._search_parameters(rng, U, y, blocks, now, common=left > 1)
            now = self._search_labels(rng, U, y, blocks, now)
        return self._search_parameters(rng, U, y, blocks, now, common=False)

    def _search_labels(
        self,
        rng: np.random.Generator,
        U: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        blocks: Groups,
        now: Labelling,
    ) -> Labelling:
        scales = np.exp(-2.0 * now.lengthscales)
        model = LabelModel(
            y=y,
            k=np.exp(-0.5 * scales[:, None] * distances(U, blocks)),
            variances=np.exp(now.variances),
            noise=float(np.exp(now.noise)),
            concentration=self.concentration,
            max_size=self.max_size,
        )
        labels, best, top = now.labels, now.labels, -np.inf
        for _ in range(self.sweeps):
            labels, visited, density = model.sweep(rng, labels)
            if density > top:
                best, top = visited, density
        return replace(now, labels=best)

    def _search_parameters(
        self,
        rng: np.random.Generator,
        U: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        blocks: Groups,
        now: Labelling,
        *,
        common: bool,
    ) -> Labelling:
        groups = groups_from_labels(now.labels)
        coordinates = expand(groups, blocks)
        ties = tuple(np.full(len(g), m) for m, g in enumerate(coordinates))
        evidence = Evidence.of(U, as_kernel("rbf"), coordinates, ties)
        # Parameters of the groups are θ = A φ; common ones have three columns.
        M = len(groups)
        A = np.eye(2 * M + 1)
        if common:
            A = np.stack([A[:, :M].sum(1), A[:, M:-1].sum(1), A[:, -1]], axis=1)
        box = np.array([LENGTHSCALES] * M + [VARIANCES] * M + [NOISE])
        bounds = A.T @ box / A.sum(axis=0)[:, None]
        low, high = bounds.T
        drawn = rng.uniform(low, high, size=(self.random_starts, len(low)))
        scores = _log_likelihoods(evidence, drawn @ A.T, y)
        present = np.clip(A.T @ _theta(now, groups) / A.sum(axis=0), low, high)
        best, top = present, -np.inf
        for phi in (present, drawn[np.argmax(scores)]):
            found, value = _climb(evidence, A, phi, y, bounds, self.steps)
            if value > top:
                best, top = found, value
        return _with_theta(now, groups, A @ best)


def as_model(learned: Labelling, blocks: Groups) -> AdditiveGP:
    """Return the Gaussian process of the learned groups, in unit-cube coordinates."""
    groups = groups_from_labels(learned.labels)
    lengthscales = np.empty(sum(len(block) for block in blocks))
    for block, log_l in zip(blocks, learned.lengthscales, strict=True):
        lengthscales[list(block)] = np.exp(log_l)
    return AdditiveGP(
        groups=expand(groups, blocks),
        kernel="rbf",
        lengthscales=lengthscales,
        variances=np.exp([learned.variances[learned.labels[g[0]]] for g in groups]),
        noise=float(np.exp(learned.noise)),
    )


def _first(rng: np.random.Generator, K: int, max_size: int) -> Labelling:
    labels = random_labels(rng, K, max_size)
    M = len(np.unique(labels))
    sizes = np.array([(labels == a).sum() for a in labels])
    return Labelling(
        labels=labels,
        lengthscales=np.log(0.3 * np.sqrt(sizes)),
        variances=np.full(K, -np.log(M)),
        noise=float(np.log(FIRST_NOISE)),
    )


def _theta(now: Labelling, groups: Groups) -> Float[ndarray, " p"]:
    """Return group length-scales (means of the members'), variances and noise."""
    l = [now.lengthscales[list(g)].mean() for g in groups]
    v = [now.variances[now.labels[g[0]]] for g in groups]
    return np.array([*l, *v, now.noise])


def _with_theta(
    now: Labelling, groups: Groups, theta: Float[ndarray, " p"]
) -> Labelling:
    """Return the parameters put back to members and labels.

    Unused labels get the mean of the others' log variances: what a new group of the
    next label search will start with.
    """
    M = len(groups)
    lengthscales = now.lengthscales.copy()
    variances = np.full(len(now.labels), theta[M : 2 * M].mean())
    for m, group in enumerate(groups):
        lengthscales[list(group)] = theta[m]
        variances[now.labels[group[0]]] = theta[M + m]
    return replace(
        now, lengthscales=lengthscales, variances=variances, noise=float(theta[-1])
    )


def _log_likelihoods(
    evidence: Evidence, thetas: Float[ndarray, "S p"], y: Float[ndarray, " N"]
) -> Float[ndarray, " S"]:
    """Return log p(y | θ), without its constant, for many θ at once; no gradients."""
    M = len(evidence.D)
    values = np.exp(thetas)
    packed = np.zeros((len(thetas), evidence.D[0].shape[1]))
    for m, D in enumerate(evidence.D):
        k = np.multiply.outer(-0.5 * values[:, m] ** -2.0, D.sum(axis=0))
        packed += values[:, M + m, None] * np.exp(k, out=k)
    packed[:, evidence.diagonal] += values[:, -1:]
    return np.array([log_density(row, y) for row in packed])


def _climb(
    evidence: Evidence,
    A: Float[ndarray, "p f"],
    start: Float[ndarray, " f"],
    y: Float[ndarray, " N"],
    bounds: Float[ndarray, "f 2"],
    steps: int,
) -> tuple[Float[ndarray, " f"], float]:
    """Return a local maximum φ of the likelihood of θ = A φ in the box, its value."""
    M = len(evidence.D)
    layout = Hyperparameters(
        lengthscales=np.ones(M), variances=np.ones(M), noise=1.0, mean=0.0
    )

    def loss(phi: Float[ndarray, " f"]) -> tuple[float, Float[ndarray, " f"]]:
        value = evidence.evaluate(layout.from_log(A @ phi), y)
        return -value.log_likelihood / len(y), -(value.gradient @ A) / len(y)

    result = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "ftol": 1e-7, "gtol": 1e-4},
    )
    return result.x, -float(result.fun) * len(y)
