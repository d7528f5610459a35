"""sumbo's models inside BoTorch: a posterior, and a joint draw as a function.

Signs stay as they are: sumbo minimises, BoTorch maximises. A model from here predicts
the y that sumbo saw, so tell BoTorch to minimise it (``maximize=False``, or an
objective that negates). Tensors are float64, in the coordinates of the posterior.
"""

# pyright: reportMissingImports=false
# The environment of the type checker has no torch.

import math
from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.gp import Posterior
from sumbo.kernels import GroupKernel, Kernel
from sumbo.sampling import Path
from sumbo.typing import Group

try:
    import torch
    from botorch.models import SingleTaskGP
    from botorch.models.deterministic import GenericDeterministicModel
    from gpytorch import kernels
    from gpytorch.constraints import GreaterThan
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ConstantMean
    from torch.autograd.function import once_differentiable
except ImportError as error:
    _MSG = 'the bridge needs BoTorch. Run: pip install "sumbo[botorch]"'
    raise MissingExtraError(_MSG) from error

Tensor = Any  # torch has no types where it is not installed


def to_botorch(post: Posterior) -> Any:
    """Return the posterior as a BoTorch model with the same mean and covariance.

    It is a ``SingleTaskGP`` whose parameters are fixed: acquisition functions, their
    gradients, pending points and fantasies work; fits do not, since sumbo has done
    that. Gradients in the inputs are of first order.

    Raises:
        ArgumentError: If noise variances of the observations are known, or parts are
            orthogonal.
    """
    if post.gp.orthogonal:
        msg = "post has orthogonal parts, which the bridge cannot hand over. "
        raise ArgumentError(f"{msg}Use a model with orthogonal=False.")
    if np.ptp(post.solver.noise) > 0:
        msg = "post has known noise variances, which the bridge cannot hand over. "
        raise ArgumentError(f"{msg}Condition without noise=.")
    # Tensors, because GPyTorch rounds Python's floats to float32.
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(0.0)).double()
    likelihood.noise = _tensor(post.gp.noise + post.jitter)
    mean = ConstantMean().double()
    mean.constant = _tensor(post.gp.mean)
    model = SingleTaskGP(
        _tensor(post.X),
        _tensor(post.y).unsqueeze(-1),
        likelihood=likelihood,
        covar_module=AdditiveKernel(post),
        mean_module=mean,
        outcome_transform=None,  # sumbo's y are modelled as they are
    )
    return model.requires_grad_(requires_grad=False).eval()


def path_model(path: Path) -> Any:
    """Return a joint draw as a deterministic BoTorch model with exact gradients.

    Its minimum is a Thompson sample: hand ``PosteriorMean(model, maximize=False)`` to
    ``optimize_acqf``. ``path`` comes from ``post.sample_path(seed)``.
    """
    return GenericDeterministicModel(lambda X: _PathValue.apply(X, path))


class AdditiveKernel(kernels.Kernel):
    """Σ_m k_m on the coordinates of the groups, with the values of ``sumbo.kernels``.

    Distances are torch's, so that gradients reach the inputs; the correlation at a
    distance and its derivative are the kernel's own, which serves every kernel that
    is registered and has no 0/0 where points coincide.
    """

    has_lengthscale = False
    is_stationary = True

    def __init__(self, post: Posterior) -> None:
        super().__init__()
        self.parts = tuple(zip(post.gp.kernels, post.gp.groups, strict=True))

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any
    ) -> Tensor:
        """Return the covariances (…, n, m) of two sets of points, or the diagonal."""
        del params
        if diag:
            a, b = x1, x2
        else:
            a, b = x1.unsqueeze(-2), x2.unsqueeze(-3)
        return sum(_covariance(kernel, group, a, b) for kernel, group in self.parts)


def _covariance(kernel: GroupKernel, group: Group, a: Tensor, b: Tensor) -> Tensor:
    """Return the covariance of one part, broadcast over all but the last axis."""
    columns = list(group)
    lengthscales = _tensor(kernel.lengthscales).to(a)
    s = ((a[..., columns] - b[..., columns]) / lengthscales).square().sum(-1)
    return kernel.variance * _Correlation.apply(s, kernel.kernel)


class _Correlation(torch.autograd.Function):
    """k(s) of scaled squared distances, with its derivative −w(s)/2."""

    @staticmethod
    def forward(ctx: Any, s: Tensor, kernel: Kernel) -> Tensor:
        k, w = kernel.correlation_and_weight(s.detach().cpu().numpy())
        ctx.save_for_backward(torch.from_numpy(w).to(s))
        return torch.from_numpy(k).to(s)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        (w,) = ctx.saved_tensors
        return -0.5 * w * upstream, None


class _PathValue(torch.autograd.Function):
    """A path at points (…, n, P), as (…, n, 1)."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, path: Path) -> Tensor:
        points = X.detach().cpu().numpy().reshape(math.prod(X.shape[:-1]), X.shape[-1])
        if ctx.needs_input_grad[0]:
            gradient = torch.from_numpy(path.gradient(points)).to(X)
            ctx.save_for_backward(gradient.reshape(X.shape))
        return torch.from_numpy(path(points)).to(X).reshape(*X.shape[:-1], 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream, None


def _tensor(A: Any) -> Tensor:
    # A copy: torch cannot hold read-only arrays.
    return torch.tensor(np.asarray(A), dtype=torch.float64)
