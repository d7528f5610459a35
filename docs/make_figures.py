"""Make the pictures of the documentation: python docs/make_figures.py."""

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no window, on any machine

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

from sumbo import AdditiveGP, plots

FIGURES = Path(__file__).parent / "figures"


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


def save(axes: Any, name: str, dpi: int = 150) -> None:
    FIGURES.mkdir(exist_ok=True)
    figure = np.ravel(axes)[0].figure
    drawn = BytesIO()
    figure.savefig(drawn, dpi=dpi)
    plt.close(figure)
    # A palette: a third of the bytes, and no difference to the eye.
    picture = Image.open(drawn).convert("RGB")
    picture = picture.quantize(256, dither=Image.Dither.NONE)
    picture.save(FIGURES / name, optimize=True)
    print(f"{name}: {(FIGURES / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    save(plots.parts(example()), "parts.png")
    save(plots.bilateral(seed=1), "dim2.png", dpi=120)
    save(plots.conditional_independence(seed=0), "indep.png")
