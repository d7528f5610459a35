"""The BoTorch bridge: sumbo's own numbers are the oracle, dense searches for optima."""

# pyright: reportMissingImports=false

import copy
import importlib
import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    qLogNoisyExpectedImprovement,
)
from botorch.acquisition.objective import LinearMCObjective
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from scipy.stats import qmc

import reference
from irregular import KERNELS, random_setting
from sumbo import AdditiveGP
from sumbo.errors import MissingExtraError
from sumbo.integrations.botorch import path_model, to_botorch

GROUPS = ((2,), (0, 3), (1,))
BOX = torch.tensor([[0.1, -0.2, 0.0, 0.3], [1.2, 0.9, 0.8, 1.4]], dtype=torch.float64)


def points(rng, *shape):
    return torch.tensor(rng.uniform(-0.1, 1.2, shape))


def wavy_posterior(rng, N=25):
    """Return a posterior on the box whose mean and draws have several minima."""
    low, high = BOX.numpy()
    X = rng.uniform(low, high, (N, 4))
    y = 3.0 + np.sin(9 * X[:, 0] * X[:, 3]) + np.cos(7 * X[:, 1]) - X[:, 2]
    gp = AdditiveGP(
        groups=GROUPS,
        lengthscales=[0.4, 0.2, 0.5, 0.45],
        variances=[0.8, 1.1, 0.6],
        noise=3e-3,
        mean=3.1,
    )
    return gp.condition(X, y)


def candidates(n=13):
    """Return 2ⁿ points that fill the box."""
    low, high = BOX.numpy()
    U = qmc.Sobol(4, rng=np.random.default_rng(8)).random_base2(n)
    return low + U * (high - low)


# ---------------------------------------------------------------------- the posterior
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.03, 1e-7])
def test_mean_and_variance_equal_those_of_the_posterior(rng, kernel, noise):
    s = random_setting(rng, kernel=kernel, noise=noise, N=30)
    X_new = torch.cat([points(rng, 8, s.gp.dim), torch.tensor(s.X[:3])])
    out = to_botorch(s.post).posterior(X_new)
    mean, var = s.post.predict(X_new.numpy())
    np.testing.assert_allclose(out.mean[:, 0], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(out.variance[:, 0], var, atol=1e-8 * s.scale)


def test_the_covariance_equals_the_dense_one(rng):
    s = random_setting(rng, noise=0.05)
    X_new = points(rng, 6, s.gp.dim)
    Z = reference.project(s.gp, X_new.numpy())
    _, cov = reference.posterior_of_parts(s.gp, s.X, s.y, Z)
    M = len(s.gp.groups)
    total = cov.reshape(M, 6, M, 6).sum(axis=(0, 2))
    ours = to_botorch(s.post).posterior(X_new).distribution.covariance_matrix
    np.testing.assert_allclose(ours, total, atol=1e-8 * s.scale)


def test_batches_of_points_keep_their_shape(rng):
    s = random_setting(rng)
    model = to_botorch(s.post)
    X_new = points(rng, 2, 3, 4, s.gp.dim)
    whole = model.posterior(X_new)
    one = model.posterior(X_new[1, 2])
    assert whole.mean.shape == (2, 3, 4, 1)
    np.testing.assert_allclose(whole.mean[1, 2], one.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        whole.distribution.covariance_matrix[1, 2],
        one.distribution.covariance_matrix,
        atol=1e-9 * s.scale,
    )


def test_observation_noise_is_added_on_request(rng):
    s = random_setting(rng, noise=0.21)
    model = to_botorch(s.post)
    X_new = points(rng, 4, s.gp.dim)
    noisy = model.posterior(X_new, observation_noise=True).variance
    clean = model.posterior(X_new).variance
    np.testing.assert_allclose(noisy - clean, 0.21, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "matern52"])
def test_gradients_equal_finite_differences(rng, kernel):
    s = random_setting(rng, M=3, kernel=kernel, noise=0.02)
    model = to_botorch(s.post)

    def moments(X):
        out = model.posterior(X)
        return out.mean, out.distribution.covariance_matrix

    X_new = points(rng, 3, s.gp.dim).requires_grad_()
    assert torch.autograd.gradcheck(moments, (X_new,))


def test_gradients_are_finite_where_points_coincide(rng):
    s = random_setting(rng, kernel="matern12", noise=0.02)
    X_new = torch.tensor(s.X[:2]).requires_grad_()
    to_botorch(s.post).posterior(X_new).variance.sum().backward()
    assert torch.isfinite(X_new.grad).all()


def test_further_observations_equal_appended_ones(rng):
    s = random_setting(rng, noise=0.04)
    model = to_botorch(s.post)
    model.posterior(points(rng, 1, s.gp.dim))  # fills the caches that it needs
    x, X_new = points(rng, 1, s.gp.dim), points(rng, 5, s.gp.dim)
    more = model.condition_on_observations(x, torch.tensor([[1.7]]).double())
    mean, var = s.post.append(x.numpy(), [1.7]).predict(X_new.numpy())
    out = more.posterior(X_new)
    np.testing.assert_allclose(out.mean[:, 0], mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(out.variance[:, 0], var, atol=1e-8 * s.scale)


def test_fantasies_narrow_the_model_where_they_are(rng):
    s = random_setting(rng, noise=0.04)
    model = to_botorch(s.post)
    x = points(rng, 2, s.gp.dim)
    model.posterior(x)
    fantasy = model.fantasize(x, SobolQMCNormalSampler(torch.Size([3]), seed=1))
    _, var = s.post.append(x.numpy(), [0.3, 1.1]).predict(x.numpy())
    assert fantasy.posterior(x).mean.shape == (3, 2, 1)
    for i in range(3):
        ours = fantasy.posterior(x).variance[i, :, 0]
        np.testing.assert_allclose(ours, var, atol=1e-8 * s.scale)


def test_no_parameter_is_left_to_fit(rng):
    model = to_botorch(random_setting(rng).post)
    assert not any(p.requires_grad for p in model.parameters())
    copied = copy.deepcopy(model)
    X_new = points(rng, 2, model.train_inputs[0].shape[-1])
    torch.testing.assert_close(
        copied.posterior(X_new).mean, model.posterior(X_new).mean
    )


# ---------------------------------------------------------------------- acquisition
def test_expected_improvement_is_optimised_as_well_as_by_dense_search(rng):
    post = wavy_posterior(rng)
    acquisition = LogExpectedImprovement(
        to_botorch(post), best_f=post.y.min(), maximize=False
    )
    torch.manual_seed(3)
    _, value = optimize_acqf(acquisition, BOX, q=1, num_restarts=8, raw_samples=256)
    with torch.no_grad():
        dense = acquisition(torch.tensor(candidates(12)).unsqueeze(-2)).max()
    assert value >= dense


def test_batches_with_pending_points_are_proposed(rng):
    post = wavy_posterior(rng)
    pending = torch.tensor(candidates(3)[:2])
    acquisition = qLogNoisyExpectedImprovement(
        to_botorch(post),
        X_baseline=torch.tensor(post.X),
        objective=LinearMCObjective(torch.tensor([-1.0]).double()),
        sampler=SobolQMCNormalSampler(torch.Size([32]), seed=4),
        X_pending=pending,
        prune_baseline=True,
    )
    torch.manual_seed(5)
    X, value = optimize_acqf(acquisition, BOX, q=2, num_restarts=2, raw_samples=16)
    assert X.shape == (2, 4)
    assert ((BOX[0] <= X) & (BOX[1] >= X)).all()
    assert torch.isfinite(value)


# ---------------------------------------------------------------------- paths
@pytest.mark.parametrize("kernel", KERNELS)
def test_path_values_and_gradients_equal_those_of_the_path(rng, kernel):
    s = random_setting(rng, kernel=kernel)
    path = s.post.sample_path(seed=12, features=64)
    model = path_model(path)
    X = points(rng, 3, 2, s.gp.dim).requires_grad_()
    value = model.posterior(X).mean
    flat = X.detach().numpy().reshape(6, -1)
    assert value.shape == (3, 2, 1)
    np.testing.assert_array_equal(value.detach().numpy().ravel(), path(flat))
    weights = points(rng, 3, 2, 1)
    (value * weights).sum().backward()
    wanted = path.gradient(flat) * weights.numpy().reshape(6, 1)
    np.testing.assert_allclose(X.grad.numpy().reshape(6, -1), wanted, rtol=1e-12)


def test_the_gradient_of_a_path_equals_finite_differences(rng):
    s = random_setting(rng, M=3, kernel="matern52")
    model = path_model(s.post.sample_path(seed=2, features=64))
    X = points(rng, 3, s.gp.dim).requires_grad_()
    assert torch.autograd.gradcheck(lambda X: model.posterior(X).mean, (X,))


def test_a_path_is_minimised_as_well_as_by_dense_search(rng):
    path = wavy_posterior(rng).sample_path(seed=6)
    acquisition = PosteriorMean(path_model(path), maximize=False)
    torch.manual_seed(7)
    X, value = optimize_acqf(acquisition, BOX, q=1, num_restarts=16, raw_samples=512)
    found = float(path(X.numpy())[0])
    assert found == pytest.approx(-float(value), rel=1e-12)
    assert found <= path(candidates()).min()


# ---------------------------------------------------------------------- the page
PAGE = Path(__file__).parents[2] / "docs" / "integrations" / "botorch.md"


@pytest.fixture(scope="module")
def page():
    """Return the names that the blocks of the page leave behind, run in order."""
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ax and its storage warn of themselves
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            if "from ax." in block and find_spec("ax") is None:
                break
            exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_the_page_proposes_points_inside_the_bounds(page):
    assert ((page["bounds"][0] <= page["x"]) & (page["bounds"][1] >= page["x"])).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(find_spec("ax") is None, reason="Ax is not installed")
def test_the_node_for_ax_tells_every_trial_that_ended(page):
    client, optimizer = page["client"], page["optimizer"]
    ((failed, point),) = client.get_next_trials(max_trials=1).items()
    client.mark_trial_failed(failed)
    ((_, waiting),) = client.get_next_trials(max_trials=1).items()
    assert len(optimizer.y) == 9
    assert np.isnan(optimizer.y[-1])
    assert optimizer.X[-1].tolist() == [point[name] for name in page["names"]]
    assert optimizer.pending.tolist() == [[waiting[name] for name in page["names"]]]
    np.testing.assert_allclose(optimizer.y[:-1], page["f"](optimizer.X[:-1]))
    assert page["prediction"]["cost"][0] == optimizer.best[1]


# ---------------------------------------------------------------------- errors
@pytest.mark.parametrize("library", ["torch", "botorch.models", "gpytorch"])
def test_without_botorch_the_extra_is_named(monkeypatch, library):
    monkeypatch.delitem(sys.modules, "sumbo.integrations.botorch")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"sumbo\[botorch\]"):
        importlib.import_module("sumbo.integrations.botorch")
