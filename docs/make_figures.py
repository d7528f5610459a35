"""Make the pictures of the documentation: python docs/make_figures.py [NAME.png …]."""

import sys
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no window, on any machine

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

import sumbo
from sumbo import AdditiveGP, plots, problems

OUT = Path(__file__).parent / "figures"
SMALL_DPI = 120


@cache
def example():
    """Return a model of 40 values of a sum of six parts, one of two coordinates."""
    rng = np.random.default_rng(7)
    X = rng.random((40, 7))
    y = (
        np.sin(6.1 * X[:, 0])
        + 6 * (X[:, 1] - 0.63) ** 2
        + 1.2 * np.cos(5 * X[:, 2] * X[:, 3] + 3 * X[:, 3])
        - 0.9 * np.exp(-30 * (X[:, 4] - 0.3) ** 2)
        + 0.5 * np.sin(9 * X[:, 5])
        + 0.2 * X[:, 6]
    )
    y += 0.05 * rng.standard_normal(len(y))
    gp = AdditiveGP(groups=[(0,), (1,), (2, 3), (4,), (5,), (6,)])
    return gp.fit(X, y).condition(X, y)


def convergence():
    """Return ten runs on ten instances of a function of five parameters."""
    runs = []
    for seed in range(10):
        p = problems.get("rastrigin5", seed=seed)
        runs.append(sumbo.minimize(p, p.bounds, budget=100, seed=seed))
    return plots.convergence(runs, minimum=-10.0)


def learned_groups():
    """Return how probable it is that two parameters share a group, from 40 points.

    The function couples parameters 0 and 4, and 2 and 5; the others stand alone.
    """

    def f(x):
        pairs = np.sin(7 * x[0] * x[4]) + np.cos(6 * (x[2] - x[5]))
        return pairs + np.sin(5 * x[1]) + (x[3] - 0.4) ** 2 + np.cos(4 * x[6])

    opt = sumbo.Optimizer([(0, 1)] * 7, seed=0, n_init=40)
    X = opt.ask(40)
    opt.tell(X, [f(x) for x in X])
    opt.ask()
    return plots.co_membership(opt.co_membership())


def problem(name, **settings):
    return plots.problem(problems.get(name, **settings))


FIGURES = {
    "parts.png": lambda: plots.parts(example()),
    "shares.png": lambda: plots.variance_shares(example()),
    "slices.png": lambda: plots.slices(example()),
    "leave_one_out.png": lambda: plots.leave_one_out(example()),
    "convergence.png": convergence,
    "co_membership.png": learned_groups,
    "dim2.png": lambda: plots.bilateral(seed=1),
    "indep.png": lambda: plots.conditional_independence(seed=0),
    "ackley.png": lambda: problem("ackley5", seed=3),
    "levy.png": lambda: problem("levy5", seed=3),
    "rastrigin.png": lambda: problem("rastrigin5", seed=3),
    "rover.png": lambda: problem("rover"),
    "push.png": lambda: problem("push"),
    "lunar.png": lambda: problem("lunar"),
}


def save(axes: Any, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure = np.ravel(axes)[0].figure
    drawn = BytesIO()
    figure.savefig(drawn, dpi=SMALL_DPI if name == "dim2.png" else 150)
    plt.close(figure)
    # A palette: a third of the bytes, and no difference to the eye.
    picture = Image.open(drawn).convert("RGB")
    picture = picture.quantize(256, dither=Image.Dither.NONE)
    picture.save(OUT / name, optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        save(FIGURES[name](), name)
        print(f"{name}: {(OUT / name).stat().st_size / 1000:.0f} kB")
