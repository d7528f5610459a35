"""Learning of groups: label laws against enumeration, and recovery of a structure."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score

import reference
from irregular import frozen
from searches import additive_function
from sumbo import AdditiveGP
from sumbo.errors import ArgumentError
from sumbo.partitions.gibbs import LabelModel, log_prior, random_labels
from sumbo.structure import groups_of
from sumbo.surrogate import labelled as module
from sumbo.surrogate.labelled import LabelledStructure, Learned, as_model


def singles(K):
    return tuple((j,) for j in range(K))


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
        groups = groups_of(labels)
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
    assert groups_of(np.array([4, 0, 4, 2, 0])) == ((0, 2), (1, 4), (3,))


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
        by_partition.setdefault(groups_of(z), [z, 0.0])[1] += urn
    difference = [
        np.log(total) - log_prior(z, concentration)
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
def test_conditional_is_the_brute_force_one(rng, labels):
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
def test_a_sweep_keeps_the_law_of_the_labels(rng):
    # Exact draws stay exact draws under the sweep; chi-square over partitions, a
    # false alarm in about 1e-6 of runs.
    case = Case(rng, K=3, N=6, noise=3.1)  # noise that leaves all partitions likely
    states = [np.array(z) for z in product(range(3), repeat=3)]
    weights = np.array([case.log_weight(z) for z in states])
    law = np.exp(weights - np.logaddexp.reduce(weights))
    names = sorted({groups_of(z) for z in states})
    wanted = np.zeros(len(names))
    for z, p in zip(states, law, strict=True):
        wanted[names.index(groups_of(z))] += p
    counts = np.zeros(len(names))
    for i in rng.choice(len(states), size=600, p=law):
        after, _, _ = case.model.sweep(rng, states[i])
        counts[names.index(groups_of(after))] += 1
    assert wanted.min() * 600 > 5
    assert stats.chisquare(counts, wanted * 600).pvalue > 1e-6


def test_best_labels_of_a_sweep_have_the_density_it_reports(rng):
    case = Case(rng, K=4, N=8)
    _, best, density = case.model.sweep(rng, np.array([1, 1, 0, 3]))
    exact = case.log_likelihood(best) + log_prior(best, case.model.concentration)
    np.testing.assert_allclose(density, exact, rtol=1e-9)


# ---------------------------------------------------------------------- parameters
def test_random_starts_are_scored_by_the_likelihood(rng):
    X, y = rng.random((13, 4)), rng.normal(size=13)
    groups = ((0, 2), (1,), (3,))
    ties = (np.array([0, 0]), np.array([1]), np.array([2]))
    evidence = module.Evidence.of(X, module.as_kernel("rbf"), groups, ties)
    thetas = rng.uniform(-2.3, 0.4, (5, 7))
    exact = []
    for theta in np.exp(thetas):
        gp = AdditiveGP(
            groups=groups,
            kernel="rbf",
            lengthscales=[theta[[0, 0]], theta[[1]], theta[[2]]],
            variances=theta[3:6],
            noise=theta[6],
        )
        exact.append(reference.log_likelihood(gp, X, y))
    shift = module._log_likelihoods(evidence, thetas, y) - exact
    np.testing.assert_allclose(shift, 13 / 2 * np.log(2 * np.pi), rtol=1e-9)


@pytest.mark.parametrize("common", [True, False])
def test_parameter_search_raises_the_likelihood_within_the_box(rng, common):
    X = rng.random((40, 4))
    y = np.sin(5 * X[:, 0] + 3 * X[:, 2]) + 0.4 * np.cos(7 * X[:, 1])
    y = (y - y.mean()) / y.std()
    start = Learned(
        labels=np.array([2, 0, 2, 1]),
        lengthscales=np.full(4, -0.4),
        variances=np.full(4, -2.1),
        noise=-1.3,
    )
    rule = LabelledStructure(random_starts=20)
    end = rule._search_parameters(rng, X, y, singles(4), start, common=common)
    before, after = (
        as_model(each, singles(4)).log_marginal_likelihood(X, y)
        for each in (start, end)
    )
    assert after > before + 1.0
    assert end.lengthscales[0] == end.lengthscales[2]
    assert (end.lengthscales <= 0).all()
    assert (end.lengthscales >= -5).all()
    assert -10 <= end.noise <= 1
    assert len(set(np.round(end.variances[:3], 12))) == (1 if common else 3)


def test_unused_labels_get_the_mean_of_the_log_variances(rng):
    start = Learned(np.array([3, 0, 3, 0]), np.zeros(4), np.zeros(4), -2.0)
    theta = np.array([-0.7, -1.1, 0.3, -1.6, -4.2])
    end = module._with_theta(start, ((0, 2), (1, 3)), theta)
    np.testing.assert_allclose(end.variances, [-1.6, -0.65, -0.65, 0.3])
    np.testing.assert_allclose(end.lengthscales, [-0.7, -1.1, -0.7, -1.1])


# ---------------------------------------------------------------------- recovery
def standardised_function(rng, X, labels):
    """Return values of an additive function with mean zero and variance one."""
    y = additive_function(rng, X, labels)
    return (y - y.mean()) / y.std()


@pytest.mark.statistical
@pytest.mark.parametrize("replicate", range(3))
def test_groups_of_an_additive_function_are_recovered(rng, replicate):
    # 10-d, 100 points, groups of 1, 2 and 3: 60 of 60 other data sets pass.
    labels = rng.permutation([0, 1, 1, 2, 2, 2, 3, 4, 4, 5])
    X = rng.random((100, 10))
    y = standardised_function(rng, X, labels)
    found = LabelledStructure(max_size=3).learn(rng, X, y, singles(10))
    assert adjusted_rand_score(labels, found.labels) >= 0.9


def test_learning_depends_on_the_generator_alone(rng):
    X = frozen(rng.random((25, 4)))
    y = frozen(standardised_function(rng, X, np.array([0, 1, 1, 2])))
    rule = LabelledStructure(sweeps=2, random_starts=10)
    first, second = (
        rule.learn(np.random.default_rng(81), X, y, singles(4)) for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_coordinates_of_one_parameter_stay_together(rng):
    blocks = ((0,), (1, 2, 3), (4,))
    X = rng.random((20, 5))
    y = rng.normal(size=20)
    found = LabelledStructure(sweeps=2, random_starts=10).learn(rng, X, y, blocks)
    gp = as_model(found, blocks)
    assert sum({1, 2, 3} <= set(group) for group in gp.groups) == 1
    assert sorted(p for group in gp.groups for p in group) == list(range(5))
    assert len(set(gp.lengthscales[1:4])) == 1


def spied_label_models(monkeypatch):
    """Return the list of label models that learning will make."""
    made = []
    original = module.LabelModel

    def spy(**arguments):
        made.append(original(**arguments))
        return made[-1]

    monkeypatch.setattr(module, "LabelModel", spy)
    return made


def test_groups_share_their_parameters_in_all_rounds_but_the_last(rng, monkeypatch):
    made = spied_label_models(monkeypatch)
    X = rng.random((25, 4))
    y = standardised_function(rng, X, np.array([0, 1, 1, 2]))
    rule = LabelledStructure(rounds=3, sweeps=1, random_starts=5, max_size=1)
    rule.learn(rng, X, y, singles(4))
    assert [len(np.unique(each.variances.round(12))) > 1 for each in made] == [
        False,
        False,
        True,
    ]


def test_large_data_are_thinned_for_learning(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST", 12)
    made = spied_label_models(monkeypatch)
    rule = LabelledStructure(rounds=1, sweeps=1, random_starts=5)
    rule.learn(rng, rng.random((31, 3)), rng.normal(size=31), singles(3))
    assert [len(each.y) for each in made] == [12]


@pytest.mark.parametrize(
    "setting",
    [{"refit": 0}, {"max_size": -2}, {"rounds": True}, {"concentration": -0.3}],
)
def test_settings_that_cannot_be_used_are_named(setting):
    with pytest.raises(ArgumentError, match=next(iter(setting))):
        LabelledStructure(**setting)
