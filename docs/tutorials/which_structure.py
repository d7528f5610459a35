"""Compare additive structures on a random design, then search with the best one."""

import numpy as np

import sumbo

NAMES = ("span", "chord", "sweep", "mass", "speed")


def cost(x):
    """Return a function in which span and chord, and mass and speed, interact."""
    span, chord, sweep, mass, speed = x
    lift = np.sin(4 * span * chord)
    return -lift + (sweep - 0.4) ** 2 + np.cos(3 * (mass - speed)) + 0.3 * mass


STRUCTURES = {
    "each alone": [(0,), (1,), (2,), (3,), (4,)],
    "span with chord": [(0, 1), (2,), (3,), (4,)],
    "span with chord, mass with speed": [(0, 1), (2,), (3, 4)],
    "all together": [(0, 1, 2, 3, 4)],
}


def main():
    rng = np.random.default_rng(5)
    X = rng.random((40, len(NAMES)))
    y = np.array([cost(x) for x in X])

    evidence = {}
    for name, groups in STRUCTURES.items():
        gp = sumbo.AdditiveGP(groups=groups).fit(X, y)
        evidence[name] = gp.log_marginal_likelihood(X, y)
        mean, _ = gp.condition(X, y).leave_one_out()
        error = np.sqrt(np.mean((mean - y) ** 2))
        print(f"{name:34} evidence {evidence[name]:6.1f}, left-out error {error:.3f}")

    best = max(evidence, key=lambda name: evidence[name])
    print(f"search with: {best}")
    result = sumbo.minimize(
        cost,
        [sumbo.Real(name, 0, 1) for name in NAMES],
        groups=STRUCTURES[best],
        x0=X,
        y0=y,
        budget=70,
        seed=1,
    )
    print(f"best of the design {y.min():.3f}, after the search {result.fun:.3f}")


if __name__ == "__main__":
    main()
