"""Gibbs sampling of the groups, given the parameters of the kernels; [wang2017skl].

K parameters carry labels z_1 … z_K in {0, …, K−1}; equal labels mean one group. With
squared-exponential kernels, a group's kernel is a product over its members:

    K_a = v_a Π_{j: z_j = a} k_j,   k_j = exp(−½ D_j/ℓ_j²),

so that with the k_j at hand a change of one label costs one elementwise product and
one Cholesky factor. Labels have a symmetric Dirichlet-multinomial prior, whose
conditional is p(z_j = a | others) ∝ n_a + c with n_a the *other* members of a and
c the concentration.

``T = N(N+1)/2`` is the number of packed pairs of observations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from sumbo.partitions.density import log_density
from sumbo.typing import Float, Int, ndarray


def random_labels(
    rng: np.random.Generator, K: int, max_size: int
) -> Int[ndarray, " K"]:
    """Return labels drawn in turn, uniformly among groups that are not full."""
    labels = np.full(K, -1)
    for j in range(K):
        room = [a for a in range(K) if (labels == a).sum() < max_size]
        labels[j] = rng.choice(room)
    return labels


def log_label_prior(labels: Int[ndarray, " K"], concentration: float) -> float:
    """Return the log probability of the partition, up to a constant.

    That of one labelling, Π_a Γ(n_a + c)/Γ(c), times the K!/(K − M)! labellings that
    name the same M groups.
    """
    sizes = np.unique(labels, return_counts=True)[1]
    K, M = len(labels), len(sizes)
    chosen = gammaln(sizes + concentration) - gammaln(concentration)
    return float(chosen.sum() + gammaln(K + 1) - gammaln(K - M + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelModel:
    """The distribution of labels given data, length-scales, variances and noise.

    Attributes:
        y: Observed values; the model's mean is 0.
        k: The kernel of each parameter between all packed pairs.
        variances: v_a of each label, used or not.
        noise: Variance of the observation noise.
        concentration: c of the prior on labels.
        max_size: Most members of a group.
    """

    y: Float[ndarray, " N"]
    k: Float[ndarray, "K T"]
    variances: Float[ndarray, " K"]
    noise: float
    concentration: float = 1.0
    max_size: int = 5

    def log_likelihood(self, labels: Int[ndarray, " K"]) -> float:
        """Return log p(y | labels)."""
        packed = np.zeros(self.k.shape[1])
        for a in np.unique(labels):
            packed += self.variances[a] * self.k[labels == a].prod(axis=0)
        return self._log_density(packed)

    def conditional(
        self, labels: Int[ndarray, " K"], j: int
    ) -> tuple[Int[ndarray, " c"], Float[ndarray, " c"], Float[ndarray, " c"]]:
        """Return labels for j, their log weights given the others, log p(y | label).

        Full groups are left out. Unused labels of equal variance are one choice, whose
        weight counts them all.
        """
        others = np.arange(len(labels)) != j
        used = {int(a): labels == a for a in np.unique(labels[others])}
        products = {a: self.k[own & others].prod(axis=0) for a, own in used.items()}
        base = np.zeros(self.k.shape[1])
        for a, product in products.items():
            base += self.variances[a] * product
        choices: list[int] = []
        weights: list[float] = []
        scores: list[float] = []
        for a, product in products.items():
            n = int((used[a] & others).sum())
            if n < self.max_size:
                moved = base + self.variances[a] * product * (self.k[j] - 1.0)
                choices.append(a)
                weights.append(n + self.concentration)
                scores.append(self._log_density(moved))
        for a, count in self._unused(used):
            choices.append(a)
            weights.append(count * self.concentration)
            scores.append(self._log_density(base + self.variances[a] * self.k[j]))
        likelihood = np.array(scores)
        return np.array(choices), np.log(weights) + likelihood, likelihood

    def sweep(
        self, rng: np.random.Generator, labels: Int[ndarray, " K"]
    ) -> tuple[Int[ndarray, " K"], Int[ndarray, " K"], float]:
        """Return labels after one draw of each, the best visited, and its log density.

        The best one has the greatest likelihood times prior: the sampler also searches
        for the maximum.
        """
        labels = labels.copy()
        best, top = labels.copy(), -np.inf
        for j in rng.permutation(len(labels)):
            choices, log_weights, likelihood = self.conditional(labels, int(j))
            # Gumbel-max: an exact draw from unnormalised log weights.
            drawn = int(np.argmax(log_weights + rng.gumbel(size=len(choices))))
            labels[j] = choices[drawn]
            log_prior = log_label_prior(labels, self.concentration)
            density = float(likelihood[drawn]) + log_prior
            if density > top:
                best, top = labels.copy(), density
        return labels, best, top

    def _unused(self, used: dict[int, ndarray]) -> list[tuple[int, int]]:
        """Return one unused label for each variance among them, and their number."""
        free = np.array([a for a in range(len(self.variances)) if a not in used])
        if len(free) == 0:
            return []
        _, first, counts = np.unique(
            self.variances[free], return_index=True, return_counts=True
        )
        return [(int(free[i]), int(c)) for i, c in zip(first, counts, strict=True)]

    def _log_density(self, packed: Float[ndarray, " T"]) -> float:
        """Return log N(y; 0, K + τ²I) for the packed triangle of K."""
        constant = 0.5 * len(self.y) * np.log(2 * np.pi)
        return float(log_density(packed, self.y, self.noise) - constant)
