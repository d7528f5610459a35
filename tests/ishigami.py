"""The function of Ishigami and Homma, and its Sobol shares."""

import numpy as np


def ishigami(U):
    """Return the function of Ishigami and Homma (a = 7, b = 0.1) on the unit cube."""
    x = np.pi * (2 * U - 1)
    return np.sin(x[:, 0]) * (1 + 0.1 * x[:, 2] ** 4) + 7 * np.sin(x[:, 1]) ** 2


def ishigami_shares():
    """Return its first-order and total shares, in closed form."""
    alone = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
    pair = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = alone + 49 / 8 + pair
    first = np.array([alone, 49 / 8, 0.0])
    return first / whole, (first + np.array([pair, 0.0, pair])) / whole
