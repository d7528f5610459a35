"""How fast is the likelihood with its gradient? Against scikit-learn and GPyTorch.

    python -m benchmarks.likelihood [--rounds 15]

Twenty groups of three coordinates, 120 observations: 60 length-scales, 20 variances
and the noise. All three compute the same number and the same gradient, which is checked
before anything is timed. GPyTorch lives in an environment of its own
(`make rivals`); where it exists, all three take turns there, in one process.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import RIVALS_PYTHON, Row, interleaved, show_rows
from sumbo import AdditiveGP
from sumbo.rng import rng_at

M, D, N = 20, 3, 120
GROUPS = tuple(tuple(range(D * m, D * m + D)) for m in range(M))
WHAT = f"likelihood with gradient, N={N}, P={M * D}, M={M}"
# A value, then its gradient in (log ℓ, log variance, log noise), in our order.
Evaluation = tuple[float, np.ndarray]


def data() -> tuple[AdditiveGP, np.ndarray, np.ndarray]:
    """Return a model with a length-scale for every coordinate, and observations."""
    rng = rng_at(0, "benchmark likelihood")
    X = rng.random((N, M * D))
    y = np.sin(7 * X).sum(axis=1) / np.sqrt(M * D) + 0.1 * rng.standard_normal(N)
    gp = AdditiveGP(
        groups=GROUPS,
        lengthscales=tuple(rng.uniform(0.2, 1.5, D) for _ in GROUPS),
        variances=rng.uniform(0.02, 0.2, M),
        noise=0.03,
    )
    return gp, X, y


def ours() -> Callable[[], Evaluation]:
    """Return our evaluation, squared differences at hand as in a fit."""
    gp, X, y = data()
    evidence, theta = gp.evidence(X), gp.hyperparameters()

    def evaluate() -> Evaluation:
        value = evidence.evaluate(theta, y)
        return value.log_likelihood, value.gradient

    return evaluate


# ---------------------------------------------------------------------- scikit-learn
def scikit_learn() -> Callable[[], Evaluation]:
    """Return scikit-learn's evaluation, of a sum of kernels on columns."""
    from sklearn import gaussian_process

    SK: Any = gaussian_process.kernels

    class Columns(SK.Kernel):
        """A kernel that sees only some columns of its inputs."""

        def __init__(self, kernel: Any, columns: list[int]) -> None:
            self.kernel = kernel
            self.columns = columns

        def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
            Y = None if Y is None else Y[:, self.columns]
            return self.kernel(X[:, self.columns], Y, eval_gradient=eval_gradient)

        def diag(self, X: Any) -> Any:
            return self.kernel.diag(X[:, self.columns])

        def is_stationary(self) -> bool:
            return True

        @property
        def hyperparameters(self) -> Any:
            return self.kernel.hyperparameters

        @property
        def theta(self) -> Any:
            return self.kernel.theta

        @theta.setter
        def theta(self, theta: Any) -> None:
            self.kernel.theta = theta

    gp, X, y = data()
    total = SK.WhiteKernel(gp.noise)
    for kernel, group in zip(gp.kernels, gp.groups, strict=True):
        matern = SK.Matern(kernel.lengthscales, nu=2.5)
        total = (
            Columns(SK.ConstantKernel(kernel.variance) * matern, list(group)) + total
        )
    regressor: Any = gaussian_process.GaussianProcessRegressor(
        kernel=total, alpha=0.0, optimizer=None
    )
    regressor.fit(X, y)
    theta = regressor.kernel_.theta

    def evaluate() -> Evaluation:
        value, slope = regressor.log_marginal_likelihood(
            theta, eval_gradient=True, clone_kernel=False
        )
        # Theirs: groups from the last to the first, each its variance first.
        blocks = slope[:-1].reshape(M, 1 + D)[::-1]
        return value, np.concatenate([blocks[:, 1:].ravel(), blocks[:, 0], slope[-1:]])

    return evaluate


# ---------------------------------------------------------------------- GPyTorch
def gpytorch_batch() -> Callable[[], Evaluation]:
    """Return GPyTorch's evaluation, all groups in one batch: its fastest way.

    The sum over groups is a sum over the batch of one Matérn kernel; the model is built
    once, and every call is a forward and a backward pass.
    """
    import gpytorch
    import torch

    torch.set_num_threads(1)
    gp, X, y = data()
    dtype = torch.float64
    inputs = torch.tensor(X, dtype=dtype)
    targets = torch.tensor(y - gp.mean, dtype=dtype)

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(inputs, targets, gpytorch.likelihoods.GaussianLikelihood())
            shape = torch.Size([M])
            matern = gpytorch.kernels.MaternKernel(
                2.5, ard_num_dims=D, batch_shape=shape
            )
            self.parts = gpytorch.kernels.ScaleKernel(matern, batch_shape=shape)

        def forward(self, x: Any) -> Any:
            K = self.parts(x.reshape(-1, M, D).transpose(0, 1)).to_dense().sum(0)
            return gpytorch.distributions.MultivariateNormal(x.new_zeros(len(x)), K)

    model: Any = Model().to(dtype)
    model.train()
    scale = model.parts
    lengthscales = np.stack([kernel.lengthscales for kernel in gp.kernels])[:, None]
    scale.base_kernel.lengthscale = torch.tensor(lengthscales, dtype=dtype)
    scale.outputscale = torch.tensor(gp.variances, dtype=dtype)
    model.likelihood.noise = gp.noise
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    raw = [
        scale.base_kernel.raw_lengthscale,
        scale.raw_outputscale,
        model.likelihood.noise_covar.raw_noise,
    ]

    def evaluate() -> Evaluation:
        model.zero_grad()
        value = mll(model(inputs), targets)
        value.backward()
        # Theirs is per observation, and in raw parameters: θ = softplus(raw) + floor.
        slopes = []
        for r, t in zip(raw, theta, strict=True):
            d_theta = -np.expm1(-np.logaddexp(0.0, r.detach().numpy().ravel()))
            slopes.append(N * r.grad.numpy().ravel() * t / d_theta)
        return N * value.item(), np.concatenate(slopes)

    theta = [lengthscales.ravel(), gp.variances, np.array([gp.noise])]
    return evaluate


# ---------------------------------------------------------------------- measurement
def contestants() -> dict[str, Callable[[], Evaluation]]:
    """Return all that this environment has, ours first.

    Raises:
        RuntimeError: If they do not compute the same.
    """
    out = {"sumbo": ours(), "scikit-learn": scikit_learn()}
    if importlib.util.find_spec("gpytorch"):
        out["GPyTorch"] = gpytorch_batch()
    value, gradient = out["sumbo"]()
    for name, f in out.items():
        other, slope = f()
        if abs(other - value) > 1e-6 * abs(value) or not np.allclose(
            slope, gradient, rtol=1e-4, atol=1e-4
        ):
            msg = f"{name} computes another likelihood: {other} is not {value}."
            raise RuntimeError(msg)
    return out


def times(rounds: int) -> dict[str, float]:
    """Return the median CPU seconds of one evaluation, in the rivals' environment."""
    if importlib.util.find_spec("gpytorch") or not RIVALS_PYTHON.exists():
        return interleaved(contestants(), rounds)
    words = [str(RIVALS_PYTHON), "-m", "benchmarks.likelihood", "--json"]
    words += ["--rounds", str(rounds)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def rows(rounds: int = 15) -> list[Row]:
    """Return the ratios to the rivals that are installed."""
    t = times(rounds)
    asked = {"scikit-learn": "≥ 5", "GPyTorch": "≥ 2"}
    return [
        Row(WHAT, name, t[name] / t["sumbo"], asked[name], f"{1e3 * t['sumbo']:.1f} ms")
        for name in asked
        if name in t
    ]


def main(argv: list[str] | None = None) -> None:
    """Print the ratios, or with --json the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="times alone, on one line")
    options = parser.parse_args(argv)
    if options.json:
        json.dump(times(options.rounds), sys.stdout)
    else:
        show_rows("Likelihood with gradient", rows(options.rounds))


if __name__ == "__main__":
    main()
