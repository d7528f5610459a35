"""Bandits and contexts: some parameters are given; or an offer is taken or not."""

import numpy as np

import sumbo
from sumbo import Real
from sumbo.decisions import DECISIONS, play

SPACE = [
    Real("outside", -5.0, 30.0),
    Real("flow", 0.2, 1.0),
    Real("supply", 25.0, 70.0),
]


def cost(outside, flow, supply):
    """Return the cost of heating for an hour; the weather sets the best supply."""
    wanted = 62.0 - 1.1 * outside
    return 0.004 * (supply - wanted) ** 2 + (flow - 0.55) ** 2 + 0.01 * supply


def control(rng, hours=35):
    """Return the excess cost of each hour; the weather is given, the rest is asked."""
    opt = sumbo.Optimizer(SPACE, groups=[(0, 2), (1,)], seed=2, n_init=6)
    excess = []
    for _ in range(hours):
        outside = float(rng.uniform(-5.0, 30.0))
        x = opt.ask(context={"outside": outside})  # x has all three parameters
        opt.tell(x, cost(*x))
        least = min(cost(outside, 0.55, supply) for supply in np.linspace(25, 70, 901))
        excess.append(cost(*x) - least)
    return np.array(excess)


def main():
    rng = np.random.default_rng(7)
    excess = control(rng)
    print(f"excess cost: first ten hours {excess[:10].mean():.3f}")
    print(f"             last ten hours  {excess[-10:].mean():.3f}")

    # Take it or leave it: only the total of an accepted offer is seen. Independent
    # draws of the parts never stop to accept bad offers.
    problem = DECISIONS.get("accept")(replicates=20, rounds=400, seed=1)
    late = {}
    for policy in ("joint", "marginal"):
        late[policy] = play(problem, policy)[:, -100:].mean()
        print(f"{policy:8}: late regret per offer {late[policy]:.4f}")
    return excess, late


if __name__ == "__main__":
    main()
