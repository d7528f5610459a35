"""``AdditiveGPRegressor``: the additive GP as a scikit-learn regressor.

Everything is in the user's units: length-scales in those of X, variances and the noise
in those of y². Defaults and priors follow the range of the data, so that no scaler is
needed in front, and ``posterior_`` can be plotted or sampled as it is.
"""

from typing import Any

import numpy as np

from sumbo.errors import ArgumentError, MissingExtraError
from sumbo.gp import AdditiveGP, Posterior
from sumbo.gp.fit import FITS
from sumbo.importance import Importance, importance_of
from sumbo.integrations.features import (
    checked_lengthscales,
    default_lengthscales,
    groups_of_features,
)
from sumbo.plots.coordinates import Coordinate
from sumbo.plots.shares import part_variances
from sumbo.space.measure import Measure
from sumbo.typing import Float, ndarray

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    _MSG = 'AdditiveGPRegressor needs scikit-learn. Run: pip install "sumbo[sklearn]"'
    raise MissingExtraError(_MSG) from error

# Relative to the largest |y|: what varies by less is constant.
ROUNDING = 1e-12


class AdditiveGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression with f(x) = c + Σ_m f_m(features of group m).

    Args:
        groups: ``"singletons"`` (each feature a part of its own), ``"one"`` (a single
            part of all features: the ordinary GP), or a list of groups. Groups hold
            column numbers, or column names if X is a data frame; together they name
            every feature, and may overlap.
        kernel: ``"matern52"``, ``"matern32"``, ``"matern12"`` or ``"rbf"``.
        lengthscales: One number, one per feature, or one array per group; default
            0.3·√(group size) of each feature's range.
        variances: Prior variance of each part, or one number for all; default equal
            parts of the variance of y.
        noise: Variance of the noise on y; default a hundredth of the variance of y.
        mean: The constant c; default the average of y.
        orthogonal: Whether every part integrates to zero over the range of the training
            data, so that parts are identified; see ``sumbo.AdditiveGP``.
        optimizer: ``"map"`` fits these four, starting from the values given,
            ``"adam"`` all but the mean; None keeps the values as they are.
        n_restarts_optimizer: Further starts of ``"map"``, drawn from its prior.
        random_state: Of the further starts.

    Attributes:
        posterior_: The ``sumbo.Posterior``; its means and draws are in units of y.
        gp_: The ``sumbo.AdditiveGP`` with the parameters used.
        groups_: The column numbers of each part.
        part_names_: The feature names of each part, joined by commas.
        theta_: Logarithms of length-scales, variances and noise, in this order.
        part_importances_: Share of each part in the variance of the prediction.
        feature_importances_: Total Sobol share of each feature, scaled to sum to one.
        n_features_in_: The number of features.
        feature_names_in_: Their names, if X was a data frame.
    """

    n_features_in_: int

    def __init__(
        self,
        groups: Any = "singletons",
        *,
        kernel: Any = "matern52",
        lengthscales: Any = None,
        variances: Any = None,
        noise: Any = None,
        mean: Any = None,
        orthogonal: Any = False,
        optimizer: Any = "map",
        n_restarts_optimizer: Any = 2,
        random_state: Any = None,
    ) -> None:
        self.groups = groups
        self.kernel = kernel
        self.lengthscales = lengthscales
        self.variances = variances
        self.noise = noise
        self.mean = mean
        self.orthogonal = orthogonal
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    # ------------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any) -> "AdditiveGPRegressor":
        """Return the regressor itself, fitted to X (N, P) and y (N,).

        Examples:
            >>> import numpy as np
            >>> from sumbo.integrations.sklearn import AdditiveGPRegressor
            >>> X = np.random.default_rng(5).random((30, 2))
            >>> y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
            >>> model = AdditiveGPRegressor(random_state=0).fit(X, y)
            >>> bool(model.score(X, y) > 0.99), model.predict_parts(X).shape
            (True, (30, 2))
        """
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        self.groups_ = groups_of_features(self.groups, self._names())
        gp = self._start(X, y)
        if self.optimizer is not None:
            gp = gp.fit(X, y, how=self.optimizer, **self._settings())
        self.posterior_ = gp.condition(X, y)
        self.gp_ = gp
        names = self._names()
        self.part_names_ = [", ".join(names[p] for p in g) for g in self.groups_]
        return self

    def _start(self, X: Float[ndarray, "N P"], y: Float[ndarray, " N"]) -> AdditiveGP:
        """Return the model with the values given, and defaults from the data."""
        spread = float(y.var())
        # A constant, up to rounding, has no scale of its own.
        spread = spread if spread > (ROUNDING * float(np.abs(y).max())) ** 2 else 1.0
        lengthscales = self.lengthscales
        if lengthscales is None:
            lengthscales = default_lengthscales(X, self.groups_)
        else:
            lengthscales = checked_lengthscales(lengthscales, self.n_features_in_)
        variances = self.variances
        if variances is None:
            variances = spread / len(self.groups_)
        orthogonal: dict[str, Any] = {}
        if self.orthogonal:
            low, high = X.min(axis=0), X.max(axis=0)
            orthogonal = {
                "orthogonal": self.orthogonal,
                "measure": _ranges(low, np.where(high > low, high, low + 1.0)),
                "constant": spread,
            }
        return AdditiveGP(
            groups=self.groups_,
            kernel=self.kernel,
            lengthscales=lengthscales,
            variances=variances,
            noise=0.01 * spread if self.noise is None else self.noise,
            mean=float(y.mean()) if self.mean is None else self.mean,
            **orthogonal,
        )

    def _settings(self) -> dict[str, Any]:
        if self.optimizer not in FITS:
            msg = (
                f"optimizer={self.optimizer!r} is unknown. Use "
                f"{', '.join(repr(name) for name in FITS)}, or None for no fit."
            )
            raise ArgumentError(msg)
        restarts = self.n_restarts_optimizer
        if not isinstance(restarts, (int, np.integer)) or restarts < 0:
            msg = f"n_restarts_optimizer={restarts!r} is not an integer, 0 or more."
            raise ArgumentError(msg)
        if self.optimizer != "map":
            return {}
        return {"starts": 1 + int(restarts), "seed": _seed(self.random_state)}

    def _names(self) -> list[str]:
        numbered = [f"x{p}" for p in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", numbered)]

    # ------------------------------------------------------------------ moments
    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Any:
        """Return the posterior mean of f, on request with its standard deviation.

        Args:
            X: Points (n, P).
            return_std: Also return the standard deviations (n,), noise not included.
            return_cov: Also return the covariance (n, n), noise not included.

        Raises:
            ArgumentError: If both are asked for.
        """
        if return_std and return_cov:
            msg = "return_std=True and return_cov=True: ask for one of the two."
            raise ArgumentError(msg)
        X, post = self._at(X)
        if return_std:
            mean, var = post.predict(X)
            return mean, np.sqrt(var)
        if return_cov:
            return post.predict_mean(X), post.predict_covariance(X)
        return post.predict_mean(X)

    def predict_parts(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior mean of every part (n, M), on request with its sd.

        The means and the constant, ``posterior_.constant()``, add up to ``predict(X)``.
        The parts are correlated, so their variances do not add up.

        Args:
            X: Points (n, P).
            return_std: Also return the standard deviations (n, M).
        """
        X, post = self._at(X)
        Z = [X[:, group] for group in self.groups_]
        if not return_std:
            return np.stack(post.part_means(Z), axis=1)
        moments = [post.part_moments(m, Zm) for m, Zm in enumerate(Z)]
        mean, var = np.stack(moments, axis=2)
        return mean, np.sqrt(var)

    # ------------------------------------------------------------------ draws
    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0
    ) -> Float[ndarray, "n k"]:
        """Return draws of f at the points, one per column, noise not included.

        They are the sums of the draws that ``sample_parts`` gives for the same state,
        and of the constant, which varies with ``orthogonal=True``.

        Args:
            X: Points (n, P).
            n_samples: The number of draws k.
            random_state: An int, a RandomState, or None for numpy's global one.
        """
        constant, parts = self._sample(X, n_samples, random_state)
        return constant + parts.sum(axis=1)

    def sample_parts(
        self, X: Any, n_samples: int = 1, random_state: Any = 0
    ) -> Float[ndarray, "n M k"]:
        """Return exact joint draws of all parts at the points.

        Args:
            X: Points (n, P).
            n_samples: The number of draws k.
            random_state: An int, a RandomState, or None for numpy's global one.

        Raises:
            ArgumentError: If ``n_samples`` is not a positive integer.
        """
        return self._sample(X, n_samples, random_state)[1]

    def _sample(
        self, X: Any, n_samples: int, random_state: Any
    ) -> tuple[Float[ndarray, " k"], Float[ndarray, "n M k"]]:
        """Return joint draws of the constant and of all parts.

        Raises:
            ArgumentError: If ``n_samples`` is not a positive integer.
        """
        if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            msg = f"n_samples={n_samples!r} is not a positive integer."
            raise ArgumentError(msg)
        X, post = self._at(X)
        # Tables repeat values: a part needs one candidate for each that differs.
        found = [np.unique(X[:, g], axis=0, return_inverse=True) for g in self.groups_]
        Z = [rows for rows, _ in found]
        seed = _seed(random_state)
        constant, draws = post.sample_with_constant(Z, n=int(n_samples), seed=seed)
        each = [f[:, rows.ravel()] for f, (_, rows) in zip(draws, found, strict=True)]
        return constant, np.stack(each).transpose(2, 0, 1)

    # ------------------------------------------------------------------ evidence
    @property
    def theta_(self) -> Float[ndarray, " p"]:
        """Log length-scales, log variances, log noise (−∞ without noise)."""
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            return self.gp_.hyperparameters().log()

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> Any:
        """Return log p(y | X, θ) of the data given to ``fit``.

        Args:
            theta: Log-parameters in the order of ``theta_``, which is the default.
            eval_gradient: Also return the gradient in ``theta``.

        Raises:
            ArgumentError: If ``theta`` has the wrong length.
        """
        check_is_fitted(self)
        post, gp = self.posterior_, self.gp_
        if theta is None and not eval_gradient:
            return post.log_marginal_likelihood()
        if theta is not None:
            theta = np.asarray(theta, dtype=np.float64)
            if theta.shape != self.theta_.shape:
                msg = (
                    f"theta has shape {theta.shape}, the model has "
                    f"{len(self.theta_)} parameters. Pass an array like theta_."
                )
                raise ArgumentError(msg)
            gp = gp.with_hyperparameters(gp.hyperparameters().from_log(theta))
        value, gradient = gp.log_marginal_likelihood_and_gradient(post.X, post.y)
        return (value, gradient) if eval_gradient else value

    # ------------------------------------------------------------------ what matters
    @property
    def part_importances_(self) -> Float[ndarray, " M"]:
        """Share of each part in the variance of the prediction; they sum to one.

        The variance is that of the part's posterior mean for features drawn uniformly
        from the range of the training data, computed by quadrature. All are 0 if the
        prediction is constant.
        """
        check_is_fitted(self)
        low, high = self.posterior_.X.min(axis=0), self.posterior_.X.max(axis=0)
        box = tuple(
            Coordinate(name=name, block=(i,), low=a, high=b, lo=a, hi=b)
            for i, (name, a, b) in enumerate(zip(self._names(), low, high, strict=True))
        )
        variances = part_variances(self.posterior_, box)
        total = variances.sum()
        # A constant y leaves parts that vary by rounding only.
        flat = total <= (ROUNDING * float(np.abs(self.posterior_.y).max())) ** 2
        return np.zeros_like(variances) if flat else variances / total

    def importance(
        self, n: int = 200, seed: int = 0, level: float = 0.95
    ) -> Importance:
        """Return a table of the Sobol shares of the features, with intervals.

        Features are taken as independent and uniform on the range of the training
        data; see ``sumbo.importance.Importance``.

        Args:
            n: The number of joint draws from the posterior.
            seed: Of the draws.
            level: The probability of the intervals.
        """
        check_is_fitted(self)
        low, high = self.posterior_.X.min(axis=0), self.posterior_.X.max(axis=0)
        return importance_of(
            [self.posterior_],
            _ranges(low, high),
            self._names(),
            n=n,
            seed=seed,
            level=level,
        )

    @property
    def feature_importances_(self) -> Float[ndarray, " P"]:
        """Total Sobol share of each feature, ``importance().total``, scaled to sum one.

        The total share of a feature is that of the variance which is left when all
        other features are known: a feature that is ignored gets nothing. All are 0 if
        the prediction is constant.
        """
        check_is_fitted(self)
        post, cached = self.posterior_, self.__dict__.get("_total_shares")
        if cached is None or cached[0] is not post:
            # Draws take longer than what is expected of an attribute.
            cached = self._total_shares = (post, self.importance().total)
        constant = np.ptp(post.y) <= ROUNDING * float(np.abs(post.y).max())
        total = np.zeros_like(cached[1]) if constant else cached[1]
        return total / total.sum() if total.any() else total

    def _at(self, X: Any) -> tuple[Float[ndarray, "n P"], Posterior]:
        """Return checked points, and the posterior to be evaluated there."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X, self.posterior_


def _ranges(low: Float[ndarray, " P"], high: Float[ndarray, " P"]) -> list[Measure]:
    """Return uniform distributions of all features."""
    return [
        Measure(coordinates=(p,), low=float(a), high=float(b))
        for p, (a, b) in enumerate(zip(low, high, strict=True))
    ]


def _seed(random_state: Any) -> int:
    """Return the number that addresses our generators."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
