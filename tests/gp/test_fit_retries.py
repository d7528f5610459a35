"""When a fit meets impossible covariances: the retry ladder, and what it reports."""

import re
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from sumbo import AdditiveGP
from sumbo.gp.evidence import Evidence
from sumbo.gp.fit import AdamFit, MapFit
from sumbo.kernels import as_kernel

GROUPS = ((0, 2), (1,))


def spoiled_evidence(rng, broken, start):
    """Return data, and their evidence under a correlation that is broken."""
    X, y = rng.random((12, 3)), rng.standard_normal(12)
    ties = start.evidence(X).ties
    return Evidence.of(X, Spoiled(broken), start.groups, ties), y


class Spoiled:
    """A correlation that is no kernel where ``broken`` says so."""

    name: ClassVar[str] = "spoiled"

    def __init__(self, broken):
        self.rbf = as_kernel("rbf")
        self.broken = broken

    def correlation(self, s):
        return self.correlation_and_weight(s)[0]

    def correlation_and_weight(self, s):
        k, w = self.rbf.correlation_and_weight(s)
        return self.broken(s, k), w

    def spectral(self, rng, n, d):
        return self.rbf.spectral(rng, n, d)


def indefinite(s, k):
    """Off-diagonal correlations of −0.9: impossible for more than two points."""
    return np.where(s > 0, -0.9, 1.0)


def spoiled_fit(rng, broken, start, **settings):
    evidence, y = spoiled_evidence(rng, broken, start)
    return MapFit(spans=1.0, **settings)(evidence, y, start.hyperparameters())


def test_a_start_that_cannot_be_evaluated_is_replaced_by_a_draw_of_the_prior(rng):
    # Length-scales above 20 are "broken"; the model starts there, the prior does not.
    def long_ones(s, k):
        return indefinite(s, k) if s.max() < 1 / 20**2 else k

    start = AdditiveGP(groups=((0, 1, 2),), lengthscales=90.0)
    theta, info = spoiled_fit(rng, long_ones, start, starts=1)
    assert info.events == ("start 0: not positive definite; drew from the prior",)
    assert (theta.lengthscales < 20).all()
    assert np.isfinite(info.log_likelihood)
    assert info.evaluations > 1


def test_the_last_good_parameters_are_kept_when_nothing_can_be_evaluated(rng):
    start = AdditiveGP(
        groups=GROUPS, lengthscales=[0.31, 0.47, 0.22], variances=[0.8, 1.9], noise=0.03
    )
    theta, info = spoiled_fit(rng, indefinite, start, starts=2)
    np.testing.assert_allclose(theta.lengthscales, start.lengthscales)
    np.testing.assert_allclose(theta.variances, start.variances)
    assert theta.noise == pytest.approx(start.noise)
    assert np.isfinite(theta.mean)
    assert info.events == (
        "start 0: not positive definite; drew from the prior",
        "start 0: failed again; kept the best so far",
        "start 1: not positive definite; drew from the prior",
        "start 1: failed again; kept the best so far",
        "no start could be evaluated; kept the last good parameters",
    )


def test_a_later_failure_keeps_the_best_that_was_seen(rng):
    # Every third evaluation fails, wherever it is.
    calls = iter(range(10**6))

    def sometimes(s, k):
        return indefinite(s, k) if next(calls) % 3 == 2 else k

    start = AdditiveGP(groups=((0, 1, 2),), lengthscales=0.6)
    theta, info = spoiled_fit(rng, sometimes, start, starts=2)
    assert "start 0: not positive definite; drew from the prior" in info.events
    assert np.isfinite(info.log_likelihood)
    assert np.isfinite(theta.log()).all()


def test_jitter_that_was_needed_is_reported(rng):
    # Nearly constant functions, whose diagonal is a little too small: indefinite
    # by −3e-7 of the variance, which the ladder can mend.
    def low_diagonal(s, k):
        return np.where(s > 0, k, 1.0 - 3e-7)

    start = AdditiveGP(
        groups=((0, 1, 2),), lengthscales=400.0, variances=900.0, noise=1e-9
    )
    _, info = spoiled_fit(rng, low_diagonal, start, starts=1)
    assert info.jitter > 0
    assert info.events[-1].startswith(f"added jitter {info.jitter:.1e}")


def test_adam_stops_where_the_covariance_fails_and_reports_it(rng):
    calls = iter(range(10**6))

    def later(s, k):
        return indefinite(s, k) if next(calls) >= 5 else k

    start = AdditiveGP(groups=((0, 1, 2),), lengthscales=0.6)
    evidence, y = spoiled_evidence(rng, later, start)
    theta, info = AdamFit(steps=40)(evidence, y, start.hyperparameters())
    (event,) = info.events
    found = re.fullmatch(r"step (\d+): not positive definite; went back one", event)
    assert found is not None
    # The last step whose own evaluation succeeded is kept.
    whole = replace(evidence, kernel=as_kernel("rbf"))
    steps = int(found.group(1)) - 2
    expected, _ = AdamFit(steps=steps)(whole, y, start.hyperparameters())
    np.testing.assert_allclose(theta.log(), expected.log(), rtol=0, atol=1e-7)
    assert np.isfinite(info.log_likelihood)
