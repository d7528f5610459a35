"""Routes with the model's own draws: whole points that a dynamic program finds."""

from itertools import product

import numpy as np

import sumbo

STEPS, STOPS = 7, 4  # a route has a stop in each of eight towns
LEVELS = np.linspace(0.0, 1.0, STOPS)
PAIRS = np.array(list(product(LEVELS, LEVELS)))  # all steps from a stop to a stop


def roads(rng):
    """Return the hours of each step, as the user's own simulator would know them."""
    uphill = rng.uniform(-0.6, 0.6, size=(STEPS, STOPS, 1))
    return 1.0 + uphill * LEVELS + 0.3 * rng.standard_normal((STEPS, STOPS, STOPS))


def shortest(tables):
    """Return the route of least total, by dynamic programming."""
    ahead, steps = np.zeros(STOPS), []
    for table in reversed(tables):
        through = table + ahead  # from a stop, by way of each stop of the next town
        steps.insert(0, through.argmin(axis=1))
        ahead = through.min(axis=1)
    route = [int(ahead.argmin())]
    for step in steps:
        route.append(int(step[route[-1]]))
    return np.array(route)


def hours(tables, route):
    """Return the total of a route."""
    return sum(t[a, b] for t, a, b in zip(tables, route[:-1], route[1:], strict=True))


def drive(how, tables, rng, trips=160):
    """Return the lost time of each trip; only the total of a trip is observed."""
    # A part is a step. Steps share their stops, so groups overlap.
    groups = [(h, h + 1) for h in range(STEPS)]
    gp = sumbo.AdditiveGP(groups=groups, noise=0.1**2, mean=float(STEPS))
    best = hours(tables, shortest(tables))
    X, y, lost = np.empty((0, STEPS + 1)), np.empty(0), []
    for trip in range(trips):
        if trip < 8:
            route = rng.integers(STOPS, size=STEPS + 1)
        else:
            if trip % 40 == 8:
                gp = gp.fit(X, y)
            draw = gp.condition(X, y).sample([PAIRS] * STEPS, how=how, seed=trip)
            route = shortest([values.reshape(STOPS, STOPS) for values in draw])
        X = np.vstack([X, LEVELS[route]])
        y = np.append(y, hours(tables, route) + 0.1 * rng.standard_normal())
        lost.append(hours(tables, route) - best)
    return np.array(lost)


def main():
    late = {}
    for how in ("joint", "marginal"):
        # A budget works in the same way: the program then also counts what is spent.
        lost = drive(how, roads(np.random.default_rng(5)), np.random.default_rng(6))
        late[how] = lost[-40:].mean()
        print(f"{how:8}: hours lost per trip at first {lost[:8].mean():.2f}, ", end="")
        print(f"in the last 40 trips {late[how]:.2f}")
    return late


if __name__ == "__main__":
    main()
