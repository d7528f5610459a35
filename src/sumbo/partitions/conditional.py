"""The conditional distribution of a partition, given length-scales and variances."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from sumbo.partitions.coordinates import CoordinateModel
from sumbo.partitions.density import log_density
from sumbo.partitions.partition import canonical, count_merged, group_with
from sumbo.typing import Float, Group, Groups, ndarray


class GroupDraw(NamedTuple):
    """A Gibbs draw of the group of one parameter.

    Attributes:
        partition: The partition with the new group.
        probabilities: The probability that each parameter is in the group.
        likelihoods: The number of groups among which one was drawn.
    """

    partition: Groups
    probabilities: Float[ndarray, " K"]
    likelihoods: int


@dataclass(kw_only=True, eq=False)
class PartitionConditional:
    """p(partition | y, parameters), up to a constant.

    The prior is log p(partition) = −penalty · Σ_g (|g| − 1). Covariances of groups are
    kept, because a sweep needs the same groups many times.
    """

    model: CoordinateModel
    penalty: float
    max_size: int
    _known: dict[Group, Float[ndarray, " T"]] = field(default_factory=dict)
    # The partition of the last call and its covariance.
    _last: tuple[Groups, Float[ndarray, " T"]] | None = None

    def log_density(self, partition: Groups) -> float:
        """Return log p(y | partition) + log p(partition), up to a constant."""
        value = log_density(self.covariance(partition), self.model.y)
        return value - self.penalty * count_merged(partition)

    def covariance(self, partition: Groups) -> Float[ndarray, " T"]:
        """Return the packed covariance matrix of the observations."""
        if self._last is None or self._last[0] != partition:
            total = self.model.noise.copy()
            for group in partition:
                total += self.covariance_of(group)
            self._last = partition, total
        return self._last[1]

    def covariance_of(self, group: Group) -> Float[ndarray, " T"]:
        """Return the packed covariance matrix of the part of one group."""
        if group not in self._known:
            variance = self.model.v[list(group)].sum()
            self._known[group] = variance * self.model.correlation(group)
        return self._known[group]

    def draw_group(
        self, rng: np.random.Generator, partition: Groups, j: int
    ) -> GroupDraw:
        """Return the partition with the group of j drawn given all other groups."""
        own = group_with(partition, j)
        left = tuple(k for k in own if k != j)
        others = [group for group in (*partition, left) if group not in ((), own)]
        rest = self.covariance(partition) - self.covariance_of(own)
        if left:
            rest += self.covariance_of(left)
        choices: list[tuple[Groups, Float[ndarray, " T"]]] = []
        log_weights: list[float] = []
        for group in ((), *(g for g in others if len(g) < self.max_size)):
            joined = tuple(sorted((*group, j)))
            packed = rest + self.covariance_of(joined)
            if group:
                packed -= self.covariance_of(group)
            kept = [g for g in others if g != group]
            choices.append((canonical((*kept, joined)), packed))
            value = log_density(packed, self.model.y)
            log_weights.append(value - self.penalty * bool(group))
        probabilities = np.zeros(len(self.model.v))
        for (groups, _), weight in zip(choices, softmax(log_weights), strict=True):
            probabilities[list(group_with(groups, j))] += weight
        # Gumbel-max: an exact draw from unnormalised log weights.
        gumbel = rng.gumbel(size=len(log_weights))
        self._last = choices[int(np.argmax(np.array(log_weights) + gumbel))]
        return GroupDraw(self._last[0], probabilities, len(choices))


def co_membership_of(
    draws: dict[int, GroupDraw], partition: Groups
) -> Float[ndarray, "K K"]:
    """Return the probability that two parameters share a group.

    That of the draw of each parameter's group, averaged over both parameters. A
    parameter without a draw shares a group with the members of its group in
    ``partition``.
    """
    K = sum(len(group) for group in partition)
    out = np.zeros((K, K))
    for j in range(K):
        if j in draws:
            out[j] = draws[j].probabilities
        else:
            out[j, list(group_with(partition, j))] = 1.0
    return 0.5 * (out + out.T)
