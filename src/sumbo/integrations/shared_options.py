"""What a run on a storage does without, and what it does instead."""

from typing import Any

from sumbo.errors import ArgumentError

# Options of ``sumbo.minimize``: their defaults, and why a shared run has none.
UNUSED = {
    "batch": (1, "every trial is chosen as soon as a worker is free."),
    "checkpoint": (None, "every value is kept in the storage."),
    "choices": (None, "trials are points of the space."),
    "repeats": (None, "every point is asked once."),
    "stop": (
        None,
        "it ends when the budget is used; run it again with a larger one to go on.",
    ),
    "data": (None, "add earlier values to the storage as trials."),
    "x0": (None, "add points to the storage as trials, with enqueue_trial."),
    "y0": (None, "add earlier values to the storage as trials."),
}


def refuse(options: dict[str, Any], prefix: str = "") -> None:
    """Take the options that a shared run does not have away; they must be unused.

    Raises:
        ArgumentError: If one of them is used.
    """
    for name, (unused, instead) in UNUSED.items():
        value = options.pop(name, unused)
        if value is not None if unused is None else value != unused:
            where = "--storage" if prefix else "a run on a storage"
            msg = f"{prefix}{name} does not go with {where}. Leave it out: {instead}"
            raise ArgumentError(msg)
