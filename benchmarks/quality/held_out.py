"""Held-out problems: none of them was used to choose a default of sumbo.

They show whether the defaults also work elsewhere. Run them with ``--design
benchmarks/quality/designs/held_out.toml``. They were written after all defaults were
chosen. A problem that is used for a choice moves to ``problems``.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.quality.problems import Function, Shifted, shifted
from sumbo.problems.base import problem
from sumbo.rng import Seed
from sumbo.typing import Float, ndarray


def salomon(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return Salomon's function: rings around the minimum at 0, not additive."""
    r = np.sqrt((Z**2).sum(axis=1))
    return 1.0 - np.cos(np.pi * r / 3.0) + 0.1 * r


def weierstrass(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a sum of functions with eight frequencies each; the minimum is at 0."""
    k = np.arange(8.0)
    waves = np.cos(2.0 * np.pi * 3.0**k * (Z[:, :, None] + 0.5))
    return ((waves - np.cos(np.pi * 3.0**k)) * 0.5**k).sum(axis=(1, 2))


def schaffer(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return Schaffer's function F7, which couples neighbours; the minimum is at 0."""
    s = np.sqrt(Z[:, :-1] ** 2 + Z[:, 1:] ** 2)
    terms = np.sqrt(s) * (1.0 + np.sin(50.0 / 6.0 * s**0.2) ** 2)
    return terms.mean(axis=1) ** 2


def happy_cat(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a narrow spherical valley that slopes down to the minimum at −1."""
    A, r = Z.shape[1], (Z**2).sum(axis=1)
    return np.abs(r - A) ** 0.25 + (0.5 * r + Z.sum(axis=1)) / A + 0.5


def qing(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a sum of quartics with two wells each; one minimum is at √i."""
    return ((Z**2 - np.arange(1, Z.shape[1] + 1)) ** 2).sum(axis=1)


def quartic(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a weighted sum of fourth powers."""
    return Z**4 @ np.arange(1.0, Z.shape[1] + 1.0)


def bell(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a single Gaussian well on a plateau."""
    return 1.0 - np.exp(-0.5 * (Z**2).sum(axis=1))


def chung_reynolds(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return the square of the squared norm."""
    return (Z**2).sum(axis=1) ** 2


def pairs(Z: Float[ndarray, "n A"]) -> Float[ndarray, " n"]:
    """Return a sum over pairs: an oblique quadratic plus ripples in their product."""
    a, b = Z[:, ::2], Z[:, 1::2]
    bowl = (1.5 * a + b) ** 2 + 0.3 * (a - b) ** 2
    return (bowl + np.sin(2.0 * a * b) ** 2).sum(axis=1)


OSCILLATION = np.array([1.0, 0.5, 3.0, 0.7, 0.2])


def oscillation(Z: Float[ndarray, "n 5"]) -> Float[ndarray, " n"]:
    """Return the squared misfit of a damped oscillation to 60 exact measurements."""
    t = np.linspace(0.0, 5.0, 60)

    def signal(Z: Float[ndarray, "n 5"]) -> Float[ndarray, "n 60"]:
        height, decay, frequency, phase, offset = Z.T[:, :, None]
        return height * np.exp(-decay * t) * np.sin(frequency * t + phase) + offset

    return ((signal(Z) - signal(OSCILLATION[None])) ** 2).sum(axis=1) / 0.01


def training(Z: Float[ndarray, "n 6"]) -> Float[ndarray, " n"]:
    """Return an imitation of a validation loss: coupled valleys and a plateau."""
    a, b, c, d, e, f = Z.T
    loss = 0.3 * np.tanh((a + 0.4 * b) ** 2) + 0.2 * np.tanh(0.5 * (b - 0.3 * c) ** 2)
    loss += 0.05 * np.tanh(d**2) + 0.02 * np.abs(e) + 0.01 * f**2
    return np.minimum(0.1 + loss, 0.6)


# Function, minimiser, and length in z of one side of the unit cube.
HELD_OUT: dict[str, tuple[Function, Float[ndarray, " A"], float]] = {
    "salomon5": (salomon, np.zeros(5), 20.0),
    "weierstrass6": (weierstrass, np.zeros(6), 1.0),
    "schaffer8": (schaffer, np.zeros(8), 20.0),
    "happy-cat8": (happy_cat, np.full(8, -1.0), 4.0),
    "qing10": (qing, np.sqrt(np.arange(1.0, 11.0)), 8.0),
    "quartic20": (quartic, np.zeros(20), 2.5),
    "bell12": (bell, np.zeros(12), 2.0),
    "chung-reynolds8": (chung_reynolds, np.zeros(8), 6.0),
    "pairs16": (pairs, np.zeros(16), 5.0),
    "oscillation5": (oscillation, OSCILLATION, 2.0),
    "training6": (training, np.zeros(6), 6.0),
}


def _maker(name: str) -> Callable[..., Shifted]:
    function, start, side = HELD_OUT[name]

    def make(*, seed: Seed = 0) -> Shifted:
        return shifted(name, seed, function, start, side=side)

    return make


for _name, (_function, _start, _) in HELD_OUT.items():
    problem(
        _name,
        dim=len(_start),
        cost="0.1 ms",
        cite="",
        description=(_function.__doc__ or "").splitlines()[0],
    )(_maker(_name))
