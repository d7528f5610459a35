"""Choose from a catalogue: 3 000 alloys, of which 60 can be measured, with noise."""

import numpy as np

import sumbo
from sumbo import Categorical, Real

SPACE = [
    Real("carbon", 0.05, 1.2),
    Real("chrome", 0.0, 18.0),
    Real("temperature", 180, 650),
    Categorical("cooling", ["air", "oil", "water"]),
]


def catalogue(rng, count=3_000):
    """Return alloys that a supplier has in stock."""
    return [
        {
            "carbon": round(float(rng.uniform(0.05, 1.2)), 3),
            "chrome": round(float(rng.uniform(0.0, 18.0)), 1),
            "temperature": float(rng.integers(180, 651)),
            "cooling": str(rng.choice(["air", "oil", "water"])),
        }
        for _ in range(count)
    ]


def wear(alloy):
    """Return the wear of a tool: a sum of what its properties add."""
    cooling = {"air": 0.9, "oil": 0.0, "water": 0.4}[alloy["cooling"]]
    carbon = 3 * (alloy["carbon"] - 0.71) ** 2
    chrome = 0.02 * (alloy["chrome"] - 11.8) ** 2
    return cooling + carbon + chrome + ((alloy["temperature"] - 240) / 180) ** 2


def main():
    rng = np.random.default_rng(4)
    alloys = catalogue(rng)
    opt = sumbo.Optimizer(SPACE, method="logei", groups="singletons", seed=3, n_init=12)
    for _ in range(30):
        k = opt.choose(alloys)  # the number of a row; no row is chosen twice
        opt.tell(alloys[k], wear(alloys[k]) + 0.02 * rng.standard_normal())
    x, y = opt.best
    values = np.array([wear(alloy) for alloy in alloys])
    true = wear(dict(zip(opt.space.names, x, strict=True)))
    print(f"best of 30: {list(x)}, wear {true:.3f}, measured {y:.3f}")
    print(f"only {np.mean(values < true):.1%} of the alloys are better")

    # Three at once. With repeats=True a row may be measured again.
    print("next:", opt.choose(alloys, 3), "or again", opt.choose(alloys, repeats=True))

    # Whole rows need the variance of the sum: what is known of a measured alloy is
    # known of its sum, not of its parts.
    post = opt.model()
    told = opt.space.encode([list(x) for x in opt.X[:3]])
    print("independent draws would multiply variances by", post.inflation(told).round())
    return true, values


if __name__ == "__main__":
    main()
