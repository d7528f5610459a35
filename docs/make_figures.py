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
from matplotlib.figure import Figure
from PIL import Image

import sumbo
from sumbo import Categorical, Integer, Real, plots, problems
from sumbo.plots.style import RC as STYLE

OUT = Path(__file__).parent / "figures"
SMALL_DPI = 120
THUMB_DPI = 160
TORQUE = "torque, Nm"
SPACE = [
    Real("feed, mm", 0.01, 1.0, log=True),
    Real("speed, m/s", 0.5, 4.0),
    Real("angle, °", -12.0, 18.0),
    Integer("blades", 2, 8),
    Categorical("coating", ("none", "TiN", "carbon")),
    Real("oil, ml/s", 0.0, 9.0),
    Real("lamp, W", 10.0, 90.0),
]
GROUPS = [[0], [1, 2], [3], [4], [5], [6]]


def torque(x):
    """Return a made-up torque of a drill, a sum of parts; the lamp does nothing."""
    feed, speed, angle, blades, coating, oil, _ = x
    return (
        41.0
        + 2.6 * (np.log10(feed) + 0.8) ** 2
        + 2.1 * np.cos(1.9 * speed + 0.13 * angle)
        + 0.35 * (blades - 5) ** 2
        + {"none": 2.4, "TiN": 0.3, "carbon": -0.8}[coating]
        - 2.2 * np.exp(-(((oil - 6.1) / 1.9) ** 2))
    )


@cache
def example():
    """Return a run of 45 random points and five asks, on seven named parameters."""
    opt = sumbo.Optimizer(SPACE, groups=GROUPS, seed=7, n_init=45)
    rng = np.random.default_rng(7)
    X = opt.ask(45)
    opt.tell(X, [torque(x) + 0.15 * rng.standard_normal() for x in X])
    for _ in range(5):
        x = opt.ask()
        opt.tell(x, torque(x) + 0.15 * rng.standard_normal())
    return opt


@cache
def runs():
    """Return ten runs on ten instances of a function of five parameters."""
    made = []
    for seed in range(10):
        p = problems.get("rastrigin5", seed=seed)
        made.append(sumbo.minimize(p, p.bounds, budget=100, seed=seed))
    return made


@cache
def learned():
    """Return a run of 40 points of a function that couples 0 with 4 and 2 with 5.

    Parameters 1, 3 and 6 stand alone, and parameter 7 does nothing.
    """

    def f(x):
        pairs = np.sin(7 * x[0] * x[4]) + np.cos(6 * (x[2] - x[5]))
        return pairs + np.sin(5 * x[1]) + (x[3] - 0.4) ** 2 + np.cos(4 * x[6])

    opt = sumbo.Optimizer([(0, 1)] * 8, seed=0, n_init=40)
    X = opt.ask(40)
    opt.tell(X, [f(x) for x in X])
    opt.ask()
    return opt


def problem(name, **settings):
    return plots.problem(problems.get(name, **settings))


FIGURES = {
    "parts.png": lambda: plots.parts(example(), objective=TORQUE),
    "importance.png": lambda: plots.importance(example()),
    "slices.png": lambda: plots.slices(example(), objective=TORQUE),
    "leave_one_out.png": lambda: plots.leave_one_out(example(), objective=TORQUE),
    "convergence.png": lambda: plots.convergence(runs(), minimum=-10.0),
    "co_membership.png": lambda: plots.co_membership(learned()),
    "dim2.png": lambda: plots.bilateral(seed=1),
    "indep.png": lambda: plots.conditional_independence(seed=0),
    "ackley.png": lambda: problem("ackley5", seed=3),
    "levy.png": lambda: problem("levy10", seed=3),
    "rastrigin.png": lambda: problem("rastrigin5", seed=3),
    "rover.png": lambda: problem("rover"),
    "push.png": lambda: problem("push"),
    "lunar.png": lambda: problem("lunar"),
}


def _axes(rows=1, columns=1, size=(3.4, 2.6)):
    """Return axes of a figure as large as a thumbnail, so that its letters are read."""
    with plt.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=size, layout="constrained")[1]


def _elsewhere(count):
    """Return axes for panels that a thumbnail leaves out."""
    return list(Figure(figsize=(3, 3)).subplots(1, count, squeeze=False)[0])


def _two(draw, shown, count):
    """Return two of a picture's panels, one above the other."""
    above, below = _axes(2, 1, (3.4, 3.6))
    axes = _elsewhere(count)
    axes[shown[0]], axes[shown[1]] = above, below
    draw(example(), axes=axes, objective=TORQUE)
    for ax in (above, below):  # each is at the left of its grid
        ax.set_ylabel(ax.get_ylabel() or TORQUE)
    return above


def _left(draw, **settings):
    """Return the left one of a picture's two panels."""
    ax = _axes(1, 1, (3.4, 2.7))
    draw(example(), axes=[ax, *_elsewhere(1)], **settings)
    ax.set_title("", loc="left")
    return ax


def _pair():
    """Return the two panels on independence without their remarks."""
    axes = plots.conditional_independence(seed=0, axes=_axes(1, 2, (3.9, 2.4)))
    for ax in axes:
        ax.set_title("", loc="right")
    return axes


# Drawn small instead of scaled down: fewer panels, letters as large as the text.
THUMBS = {
    "parts.png": lambda: _two(plots.parts, (0, 3), 6),
    "importance.png": lambda: _left(plots.importance),
    "slices.png": lambda: _two(plots.slices, (1, 3), 7),
    "leave_one_out.png": lambda: _left(plots.leave_one_out, objective=TORQUE),
    "convergence.png": lambda: plots.convergence(runs(), minimum=-10.0, ax=_axes()),
    "co_membership.png": lambda: plots.co_membership(learned(), ax=_axes()),
    "dim2.png": lambda: plots.bilateral(seed=1, axes=_axes(3, 2, (3.4, 4.2))),
    "indep.png": _pair,
    "ackley.png": lambda: _small(problem("ackley5", seed=3)),
    "levy.png": lambda: _small(problem("levy10", seed=3)),
    "rastrigin.png": lambda: _small(problem("rastrigin5", seed=3)),
    "rover.png": lambda: _small(problem("rover")),
    "push.png": lambda: _small(problem("push")),
    "lunar.png": lambda: _small(problem("lunar")),
}


def _small(ax):
    ax.set_title("", loc="right")
    ax.figure.set_size_inches(4.3, 3.0)
    return ax


def save(axes: Any, path: Path, dpi: int) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    figure = np.ravel(axes)[0].figure
    drawn = BytesIO()
    figure.savefig(drawn, dpi=dpi)
    plt.close(figure)
    # A palette: a third of the bytes, and no difference to the eye.
    picture = Image.open(drawn).convert("RGB")
    picture = picture.quantize(256, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    print(f"{path.relative_to(OUT)}: {path.stat().st_size / 1000:.0f} kB")


def make(name: str) -> None:
    """Write a picture and its thumbnail."""
    save(FIGURES[name](), OUT / name, SMALL_DPI if name == "dim2.png" else 150)
    save(THUMBS[name](), OUT / "thumbs" / name, THUMB_DPI)


if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        make(name)
