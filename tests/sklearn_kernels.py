"""scikit-learn's kernels on chosen columns, so that its GP can be an additive one."""

from typing import Any

import numpy as np
from sklearn import gaussian_process

import reference

# The stubs know neither optimizer=None nor what is returned with return_cov=True.
GP: Any = gaussian_process
SK: Any = gaussian_process.kernels
NU = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


class Columns(SK.Kernel):
    """A kernel that sees only some columns of its inputs."""

    def __init__(self, kernel, columns):
        self.kernel = kernel
        self.columns = columns

    def __call__(self, X, Y=None, eval_gradient=False):
        columns = list(self.columns)
        Y = None if Y is None else Y[:, columns]
        return self.kernel(X[:, columns], Y, eval_gradient=eval_gradient)

    def diag(self, X):
        return self.kernel.diag(X[:, list(self.columns)])

    def is_stationary(self):
        return True

    @property
    def hyperparameters(self):
        return self.kernel.hyperparameters

    @property
    def theta(self):
        return self.kernel.theta

    @theta.setter
    def theta(self, theta):
        self.kernel.theta = theta

    @property
    def bounds(self):
        return self.kernel.bounds


def sum_of_kernels(gp):
    """Return the model's covariance as a scikit-learn kernel."""
    total = None
    rows = zip(gp.groups, reference.lengthscales_of(gp), gp.variances, strict=True)
    for group, l, variance in rows:
        shape = SK.RBF(l) if gp.kernel == "rbf" else SK.Matern(l, nu=NU[gp.kernel])
        part = Columns(SK.ConstantKernel(variance) * shape, group)
        total = part if total is None else total + part
    return total


def fitted(gp, X, y):
    """Return scikit-learn's regressor with the model's parameters, given the data."""
    regressor = GP.GaussianProcessRegressor(
        kernel=sum_of_kernels(gp), alpha=gp.noise, optimizer=None
    )
    return regressor.fit(X, y - gp.mean)


def log_likelihood_and_gradient(gp, X, y):
    """Return scikit-learn's value and gradient, in our order, without the noise.

    Theirs is, group by group, log variance and then the group's log length-scales.
    """
    regressor = fitted(gp, X, y)
    value, gradient = regressor.log_marginal_likelihood(
        regressor.kernel_.theta, eval_gradient=True
    )
    variances, lengthscales, start = [], [], 0
    for group in gp.groups:
        variances.append(gradient[start])
        lengthscales.extend(gradient[start + 1 : start + 1 + len(group)])
        start += 1 + len(group)
    return value, np.array(lengthscales + variances)
