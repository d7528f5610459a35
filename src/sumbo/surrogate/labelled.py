"""Groups and parameters learned together: likelihood search and Gibbs in turn."""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from sumbo.data import Data
from sumbo.errors import ArgumentError, require_positive_integer
from sumbo.gp import AdditiveGP, Posterior
from sumbo.gp.evidence import Evidence, Hyperparameters
from sumbo.kernels import as_kernel
from sumbo.linalg import cholesky, one_blas_thread, solve_lower, unpack_lower
from sumbo.partitions.density import distances
from sumbo.partitions.gibbs import LabelModel, random_labels
from sumbo.structure import expand, groups_of
from sumbo.typing import Float, Groups, Int, State, ndarray

# The box of the log-parameters, for points of the unit cube and y of unit variance.
LENGTHSCALES = (-5.0, 0.0)
VARIANCES = (-5.0, 2.0)
NOISE = (-10.0, 1.0)
# Where the first search starts besides its random points.
FIRST_NOISE = 1e-2
# Observations that structure learning looks at, O(N³) for each label tried.
MOST = 750


class Learned(NamedTuple):
    """Labels of the K parameters, and logarithms of what the kernels need."""

    labels: Int[ndarray, " K"]
    lengthscales: Float[ndarray, " K"]  # one per parameter; equal within a fitted group
    variances: Float[ndarray, " K"]  # one per label, used or not
    noise: float


class Model(NamedTuple):
    """A posterior, the state it comes from, and what learning that state took."""

    post: Posterior
    state: State
    refitted: bool
    fit_cpu_s: float


@dataclass(frozen=True, kw_only=True)
class LabelledStructure:
    """Settings of an additive model whose groups are learned; [wang2017skl].

    Squared-exponential kernels, one length-scale and variance per group, mean 0.
    ``rounds`` times: maximise the likelihood in the parameters, then search the
    labels by Gibbs sweeps. In all rounds but the last, one length-scale and one
    variance serve all groups: parameters fitted to each wrong group would defend it.

    Attributes:
        refit: Observations after which structure and parameters are learned again.
        max_size: Most parameters in a group.
        rounds: Alternations of parameter search and label search.
        sweeps: Gibbs sweeps over all parameters in each round.
        concentration: Of the prior on labels; more makes groups of like size likelier.
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

    def __post_init__(self) -> None:
        for name in ("refit", "max_size", "rounds", "sweeps", "random_starts", "steps"):
            require_positive_integer(name, getattr(self, name))
        if not (np.isfinite(self.concentration) and self.concentration > 0):
            msg = f"concentration={self.concentration!r} is not a positive number."
            raise ArgumentError(msg)

    def model(self, rng: np.random.Generator, state: State, data: Data) -> Model:
        """Return the posterior given all data and given what is pending.

        Pending points are hallucinated: the model believes its own mean there. Where
        nothing is learned, a pure function of state and data, so that a resumed run
        sees the same bits.
        """
        begin = time.process_time()
        due = not state or len(data.y) - state["fitted_at"] >= self.refit
        if due:
            blocks = data.domain.blocks
            start = _from_state(state) if state else None
            with one_blas_thread():
                learned = self.learn(rng, data.U, data.y, blocks, start)
            state = {**state, **learned._asdict(), "fitted_at": len(data.y)}
        fit_cpu_s = time.process_time() - begin if due else 0.0
        gp = as_model(_from_state(state), data.domain.blocks)
        post = gp.condition(data.U, data.y)
        if len(data.pending):
            post = post.append(data.pending, post.predict(data.pending)[0])
        return Model(post, state, due, fit_cpu_s)

    def learn(
        self,
        rng: np.random.Generator,
        U: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        blocks: Groups,
        start: Learned | None = None,
    ) -> Learned:
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
        now: Learned,
    ) -> Learned:
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
        return now._replace(labels=best)

    def _search_parameters(
        self,
        rng: np.random.Generator,
        U: Float[ndarray, "N P"],
        y: Float[ndarray, " N"],
        blocks: Groups,
        now: Learned,
        *,
        common: bool,
    ) -> Learned:
        groups = groups_of(now.labels)
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


def as_model(learned: Learned, blocks: Groups) -> AdditiveGP:
    """Return the Gaussian process of the learned groups, in unit-cube coordinates."""
    groups = groups_of(learned.labels)
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


def _first(rng: np.random.Generator, K: int, max_size: int) -> Learned:
    labels = random_labels(rng, K, max_size)
    M = len(np.unique(labels))
    sizes = np.array([(labels == a).sum() for a in labels])
    return Learned(
        labels=labels,
        lengthscales=np.log(0.3 * np.sqrt(sizes)),
        variances=np.full(K, -np.log(M)),
        noise=float(np.log(FIRST_NOISE)),
    )


def _from_state(state: State) -> Learned:
    return Learned(
        labels=np.asarray(state["labels"]),
        lengthscales=np.asarray(state["lengthscales"]),
        variances=np.asarray(state["variances"]),
        noise=float(state["noise"]),
    )


def _theta(now: Learned, groups: Groups) -> Float[ndarray, " p"]:
    """Return group length-scales (means of the members'), variances and noise."""
    l = [now.lengthscales[list(g)].mean() for g in groups]
    v = [now.variances[now.labels[g[0]]] for g in groups]
    return np.array([*l, *v, now.noise])


def _with_theta(now: Learned, groups: Groups, theta: Float[ndarray, " p"]) -> Learned:
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
    return now._replace(
        lengthscales=lengthscales, variances=variances, noise=float(theta[-1])
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
    out = np.empty(len(thetas))
    for s, row in enumerate(packed):
        L = cholesky(unpack_lower(row, evidence.N)).L
        half = solve_lower(L, y)
        out[s] = -0.5 * half @ half - np.log(L.diagonal()).sum()
    return out


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
