"""Gibbs sampling of labels: conditional distributions against enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import reference
from irregular import frozen
from sumbo import AdditiveGP
from sumbo.partitions.gibbs import LabelModel, log_label_prior, random_labels
from sumbo.structure import groups_from_labels


class Case:
    """Data, parameters and the label model that belongs to them."""

    def __init__(self, rng, K, N, max_size=5, concentration=0.7, noise=0.037):
        self.X = frozen(rng.beta(0.8, 1.3, (N, K)))
        self.y = frozen(rng.normal(0.2, 1.1, N))
        self.lengthscales = rng.uniform(0.17, 0.83, K)
        # Two labels share a variance, as unused ones do.
        self.variances = np.exp(rng.uniform(-1.2, 1.1, K))
        self.variances[-1] = self.variances[0]
        self.noise = noise
        i, j = np.triu_indices(N)
        s = ((self.X[i] - self.X[j]) / self.lengthscales) ** 2
        self.model = LabelModel(
            y=self.y,
            k=np.exp(-0.5 * s.T),
            variances=self.variances,
            noise=self.noise,
            concentration=concentration,
            max_size=max_size,
        )

    def log_likelihood(self, labels):
        """Return log p(y | labels) by the dense textbook formula."""
        groups = groups_from_labels(labels)
        gp = AdditiveGP(
            groups=groups,
            kernel="rbf",
            lengthscales=self.lengthscales,
            variances=[self.variances[labels[g[0]]] for g in groups],
            noise=self.noise,
        )
        return reference.log_likelihood(gp, self.X, self.y)

    def log_weight(self, labels):
        """Return log p(y, labels) up to a constant, by counting members."""
        K, c = len(labels), self.model.concentration
        urn = sum(
            np.log((labels[:j] == labels[j]).sum() + c) - np.log(j + K * c)
            for j in range(K)
        )
        return self.log_likelihood(labels) + urn


# ---------------------------------------------------------------------- labels
def test_groups_of_labels_are_ordered_by_their_first_member():
    assert groups_from_labels(np.array([4, 0, 4, 2, 0])) == ((0, 2), (1, 4), (3,))


def test_random_labels_respect_the_size_limit_and_use_all_labels(rng):
    drawn = np.array([random_labels(rng, 6, 2) for _ in range(200)])
    assert max((row == a).sum() for row in drawn for a in range(6)) == 2
    assert set(drawn[:, 0]) == set(range(6))


@pytest.mark.parametrize("concentration", [0.4, 1.0, 2.3])
def test_prior_of_a_partition_sums_over_its_labellings(concentration):
    by_partition: dict = {}
    for labels in product(range(4), repeat=4):
        z = np.array(labels)
        urn = np.prod(
            [
                ((z[:j] == z[j]).sum() + concentration) / (j + 4 * concentration)
                for j in range(4)
            ]
        )
        by_partition.setdefault(groups_from_labels(z), [z, 0.0])[1] += urn
    difference = [
        np.log(total) - log_label_prior(z, concentration)
        for z, total in by_partition.values()
    ]
    np.testing.assert_allclose(difference, difference[0], rtol=1e-10)


def test_likelihood_of_labels_is_that_of_the_dense_model(rng):
    case = Case(rng, K=5, N=11)
    for _ in range(4):
        labels = random_labels(rng, 5, 3)
        np.testing.assert_allclose(
            case.model.log_likelihood(labels), case.log_likelihood(labels), rtol=1e-9
        )


@pytest.mark.parametrize("labels", [[0, 3, 3, 0, 1], [1, 3, 3, 2, 1], [0, 1, 2, 3, 4]])
def test_the_conditional_distribution_is_that_of_all_labels_in_turn(rng, labels):
    case = Case(rng, K=5, N=9)
    labels = np.array(labels)
    for j in range(5):
        choices, log_weights, likelihood = case.model.conditional(labels, j)
        exact = []
        for a in range(5):
            moved = labels.copy()
            moved[j] = a
            exact.append(case.log_weight(moved))
        # Unused labels of one variance are one choice: add up what it stands for.
        unused = [a for a in range(5) if a not in np.delete(labels, j)]
        merged = []
        for a, ll in zip(choices, likelihood, strict=True):
            same = [b for b in unused if case.variances[b] == case.variances[a]]
            same = same if a in unused else [a]
            merged.append(np.logaddexp.reduce([exact[b] for b in same]))
            moved = labels.copy()
            moved[j] = a
            np.testing.assert_allclose(ll, case.log_likelihood(moved), rtol=1e-9)
        shift = log_weights - np.array(merged)
        np.testing.assert_allclose(shift, shift[0], atol=1e-8)
        covered = np.logaddexp.reduce(merged)
        np.testing.assert_allclose(covered, np.logaddexp.reduce(exact), rtol=1e-9)


def test_full_groups_take_no_further_member(rng):
    case = Case(rng, K=5, N=7, max_size=2)
    choices, _, _ = case.model.conditional(np.array([0, 0, 1, 2, 2]), 2)
    assert not {0, 2} & set(choices)
    choices, _, _ = case.model.conditional(np.array([0, 0, 1, 2, 2]), 0)
    assert {0, 1} <= set(choices)


@pytest.mark.statistical
def test_a_sweep_keeps_the_distribution_of_the_labels(rng):
    # Exact draws stay exact draws under the sweep; chi-square over partitions, a
    # false alarm in about 1e-6 of runs.
    case = Case(rng, K=3, N=6, noise=3.1)  # noise that leaves all partitions likely
    states = [np.array(z) for z in product(range(3), repeat=3)]
    weights = np.array([case.log_weight(z) for z in states])
    exact = np.exp(weights - np.logaddexp.reduce(weights))
    names = sorted({groups_from_labels(z) for z in states})
    wanted = np.zeros(len(names))
    for z, p in zip(states, exact, strict=True):
        wanted[names.index(groups_from_labels(z))] += p
    counts = np.zeros(len(names))
    for i in rng.choice(len(states), size=600, p=exact):
        after, _, _ = case.model.sweep(rng, states[i])
        counts[names.index(groups_from_labels(after))] += 1
    assert wanted.min() * 600 > 5
    assert stats.chisquare(counts, wanted * 600).pvalue > 1e-6


def test_best_labels_of_a_sweep_have_the_density_it_reports(rng):
    case = Case(rng, K=4, N=8)
    _, best, density = case.model.sweep(rng, np.array([1, 1, 0, 3]))
    exact = case.log_likelihood(best) + log_label_prior(best, case.model.concentration)
    np.testing.assert_allclose(density, exact, rtol=1e-9)
