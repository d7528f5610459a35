"""Orthogonal parts against BoTorch's model of them, with the same hyperparameters."""

# pyright: reportMissingImports=false

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models.additive_gp import OrthogonalAdditiveGP
from botorch.models.kernels.orthogonal_additive_kernel import OrthogonalAdditiveKernel

from sumbo import AdditiveGP

LENGTHSCALES = np.array([0.27, 0.61, 1.4])
FIRST, PAIRS = np.array([1.3, 0.45, 0.8]), np.array([0.37, 0.9, 0.21])
OFFSET, NOISE, MEAN = 1.7, 0.02, 0.9
# BoTorch integrates by Gauss-Legendre quadrature, which is nearly exact for a smooth
# kernel; a Matérn kernel has a kink in its derivatives.
KERNELS = {
    "rbf": (
        lambda d: gpytorch.kernels.RBFKernel(batch_shape=torch.Size([d])),
        64,
        1e-7,
    ),
    "matern52": (
        lambda d: gpytorch.kernels.MaternKernel(batch_shape=torch.Size([d])),
        300,
        1e-5,
    ),
}


def theirs(kernel, X, y):
    """Return BoTorch's model."""
    make, nodes, _ = KERNELS[kernel]
    base = make(3).double()
    base.lengthscale = torch.tensor(LENGTHSCALES)[:, None, None]
    k = OrthogonalAdditiveKernel(
        dim=3, base_kernel=base, quad_deg=nodes, second_order=True, dtype=torch.double
    )
    k.offset, k.coeffs_1 = torch.tensor(OFFSET), torch.tensor(FIRST)
    table = torch.zeros(3, 3, dtype=torch.double)
    table[0, 1], table[0, 2], table[1, 2] = torch.tensor(PAIRS)
    k.coeffs_2 = table
    mean = gpytorch.means.ConstantMean().double()
    mean.constant = MEAN
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = NOISE
    model = OrthogonalAdditiveGP(
        torch.tensor(X),
        torch.tensor(y)[:, None],
        covar_module=k,
        likelihood=likelihood,
        mean_module=mean,
        outcome_transform=None,
    )
    return model.double().eval()


def ours(kernel, X, y):
    """Return our posterior: constant, main effects, interactions of two."""
    groups = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    gp = AdditiveGP(
        groups=groups,
        kernel=kernel,
        lengthscales=[LENGTHSCALES[list(group)] for group in groups],
        variances=[*FIRST, *PAIRS],
        noise=NOISE,
        mean=MEAN,
        orthogonal=True,
        constant=OFFSET,
    )
    return gp.condition(X, y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_posterior_of_every_component_equals_that_of_botorch(kernel, rng):
    X, U = rng.random((19, 3)), rng.random((7, 3))
    y = 2.1 + np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2]
    atol = KERNELS[kernel][2]
    model, post = theirs(kernel, X, y), ours(kernel, X, y)
    with torch.no_grad():
        whole = model.posterior(torch.tensor(U))
        each = model.posterior(torch.tensor(U), infer_all_components=True)
    mean, var = post.predict(U)
    np.testing.assert_allclose(mean, whole.mean.numpy()[:, 0], atol=atol)
    np.testing.assert_allclose(var, whole.variance.numpy()[:, 0], atol=atol)
    means, variances = each.mean.numpy()[..., 0], each.variance.numpy()[..., 0]
    constant = post.constant()
    np.testing.assert_allclose(means[0], constant[0], atol=atol)
    np.testing.assert_allclose(variances[0], constant[1], atol=atol)
    assert len(means) == 7
    for m, group in enumerate(post.gp.groups):
        mean, var = post.part_moments(m, U[:, list(group)])
        np.testing.assert_allclose(means[1 + m], mean, atol=atol)
        np.testing.assert_allclose(variances[1 + m], var, atol=atol)
        assert np.abs(mean).max() > 100 * atol
