"""A run begins anew, or where its checkpoint is."""

from typing import Any

from sumbo import checkpoint as files
from sumbo.errors import CheckpointError
from sumbo.optimizer.asktell import Optimizer
from sumbo.rng import Seed


def start_or_resume(
    bounds: Any,
    *,
    seed: Seed,
    x0: Any,
    y0: Any,
    checkpoint: Any,
    wanted_n_init: Any,
    options: dict,
) -> Optimizer:
    """Return a fresh optimizer, or the one of the checkpoint if it fits the call.

    ``wanted_n_init`` is that of the call, before a small budget shortened it.

    Raises:
        CheckpointError: If the checkpoint belongs to another run.
    """
    fresh = Optimizer(bounds, seed=seed, x0=x0, y0=y0, **options)
    if checkpoint is None:
        return fresh
    files.remove_leftovers(checkpoint)
    if not files.exists(checkpoint):
        fresh.save(checkpoint)  # a path that cannot be written fails now, not later
        return fresh
    saved = Optimizer.load(checkpoint, options["constraints"])
    difference = _difference(fresh, saved, seed, wanted_n_init)
    if difference:
        msg = (
            f"checkpoint {checkpoint} belongs to another run: {difference}. "
            "Pass another path, or the same arguments."
        )
        raise CheckpointError(msg)
    return saved


def _difference(
    fresh: Optimizer, saved: Optimizer, seed: Seed, wanted_n_init: Any
) -> str:
    space = fresh.space.difference(saved.space)
    if space:
        return space
    pairs = {
        "maximize": (fresh.maximize, saved.maximize),
        "method": (fresh.method_name, saved.method_name),
        "n_init": (fresh.n_init, _n_init_of(saved, wanted_n_init, fresh.n_init)),
        "transform": (fresh.transform, saved.transform),
        "init": (fresh.init, saved.init),
        "limits": (fresh.limits, saved.limits),
        "repeats": (fresh.repeats, saved.repeats),
    }
    if seed is not None:
        pairs["seed"] = (fresh.seed, saved.seed)
    pairs |= {k: (v, saved.settings.get(k)) for k, v in fresh.settings.items()}
    for name, (here, there) in pairs.items():
        if here != there:
            return f"{name} is {here!r} here and {there!r} there"
    n = len(fresh.y)  # the earlier data, which come first
    same = fresh.X.tolist() == saved.X[:n].tolist()
    # As text, in which NaN equals NaN: of earlier data some may have failed.
    told = [repr((o.y[:n].tolist(), o.noise[:n].tolist())) for o in (fresh, saved)]
    if not same or told[0] != told[1]:
        return "x0 or y0 are not those it began with"
    seen = [*saved.X.tolist(), *saved.pending.tolist()]
    if any(x not in seen for x in fresh.pending.tolist()):  # x0 without y0
        return "x0 is not what it began with"
    return ""


def _n_init_of(saved: Optimizer, wanted: Any, now: int) -> int:
    """Return the n_init of a saved run; ``now`` if a smaller budget shortened it.

    A run is continued with a larger budget once its initial design is over. With a
    smaller budget it keeps the design that it began with.
    """
    if saved.n_init == wanted:
        return now
    shortened_then = saved.n_init < now and saved.n_init <= (wanted - 1) // 2
    return now if shortened_then and len(saved.y) >= 2 * saved.n_init else saved.n_init
