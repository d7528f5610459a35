"""A simulator with mixed parameters that fails now and then, and a run that resumes."""

import math

import numpy as np

import sumbo
from sumbo import Categorical, Integer, Real, Space, plots

SPACE = Space.of(
    [
        Real("viscosity", 1e-4, 1e-1, log=True),
        Real("inflow", 0.5, 4.0),
        Integer("cells", 8, 64, log=True),
        Categorical("scheme", ["upwind", "central", "quick"]),
    ]
)


def simulate(viscosity, inflow, cells, scheme):
    """Return the loss of a flow.

    Raises:
        RuntimeError: If there are too few cells for the viscosity.
    """
    if scheme == "central" and inflow / (viscosity * cells) > 4000:
        raise RuntimeError("did not converge")
    loss = {"upwind": 0.3, "central": 0.05, "quick": 0.1}[scheme]
    loss += (math.log10(viscosity) + 2.2) ** 2 + 0.4 * (inflow - 2.7) ** 2
    return loss + 3 / cells


def cost(x):
    return simulate(**SPACE.as_dict(x))


def power_cut(result):
    if result.nfev == 30:
        raise StopIteration


def main():
    options = {"seed": 12, "on_error": "skip", "checkpoint": "flow.npz"}
    sumbo.minimize(cost, SPACE, budget=50, callback=power_cut, **options)
    result = sumbo.minimize(cost, SPACE, budget=50, **options)

    undisturbed = sumbo.minimize(cost, SPACE, budget=50, seed=12, on_error="skip")
    same = result.x_iters.tolist() == undisturbed.x_iters.tolist()
    print(f"{result.nfev} evaluations, {len(result.failed)} failed")
    print(f"the resumed run asked the same points: {same}")
    print(f"best loss {result.fun:.3f} at {SPACE.as_dict(result.x)}")

    plots.convergence(result).figure.savefig("convergence.png")
    plots.variance_shares(result).figure.savefig("shares.png")
    axes = plots.parts(result)
    np.ravel(axes)[0].figure.savefig("parts.png")


if __name__ == "__main__":
    main()
