"""What methods and decompositions remember between asks, to a file and back.

A state is a frozen dataclass that derives from ``State``. Only its owner reads its
fields. Everyone else hands it back, or turns it into arrays and JSON values with
``pack``, which a checkpoint can hold without pickle.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from sumbo.errors import CheckpointError

# Metadata of a field that only saves time: files leave it out, it starts empty again.
UNSAVED = {"saved": False}
# Metadata of a field that files hold only where it differs from its default, so that
# other files stay as they are.
SAVED_IF_SET = {"saved_if_set": True}


class State:
    """Base of the frozen dataclasses that hold what is remembered.

    Fields are numbers, strings, booleans, None, arrays, nested tuples of these, or
    other states. Fields with the metadata ``UNSAVED`` have a default and any type.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Count(State):
        ...     asks: int = 0
        >>> Count(asks=3).pack()
        {'asks': 3}
        >>> Count.unpack({"asks": 3})
        Count(asks=3)
    """

    def pack(self) -> dict[str, Any]:
        """Return the fields by name, states inside as dictionaries too."""
        return {
            f.name: _packed(getattr(self, f.name))
            for f in _fields(type(self))
            if not (
                f.metadata.get("saved_if_set") and getattr(self, f.name) == f.default
            )
        }

    @classmethod
    def unpack(cls, packed: Any, **known: Any) -> Any:
        """Return the state whose ``pack`` was given.

        Fields in ``known`` are taken from there: the types of some are not known to
        the class.

        Raises:
            CheckpointError: If a field is missing, or one has no place in the state.
        """
        names = [f.name for f in _fields(cls)]
        if isinstance(packed, Mapping):
            optional = [f for f in _fields(cls) if f.metadata.get("saved_if_set")]
            defaults = {f.name: f.default for f in optional if f.name not in packed}
            packed = {**defaults, **packed}
        if not isinstance(packed, Mapping) or set(packed) != set(names):
            found = sorted(packed) if isinstance(packed, Mapping) else packed
            msg = f"{cls.__name__} has the fields {sorted(names)}, the file {found}."
            raise CheckpointError(f"{msg} It was saved by another version of sumbo.")
        hints = get_type_hints(cls)
        fields = {n: _unpacked(packed[n], hints[n]) for n in names if n not in known}
        return cls(**fields, **known)


def _fields(cls: type) -> list[dataclasses.Field]:
    return [f for f in dataclasses.fields(cls) if f.metadata.get("saved", True)]


def _packed(value: Any) -> Any:
    if isinstance(value, State):
        return value.pack()
    if isinstance(value, tuple):
        return [_packed(v) for v in value]
    return value


def _unpacked(value: Any, hint: Any) -> Any:
    """Return a packed value as its field's type says: states, and tuples for lists."""
    cls = _state_in(hint)
    if isinstance(value, list | tuple):
        return tuple(_unpacked(v, cls) for v in value)
    if cls is not None and isinstance(value, Mapping):
        return cls.unpack(value)
    return value


def _state_in(hint: Any) -> type[State] | None:
    """Return the class of states that a type such as ``tuple[Fit, ...]`` holds."""
    if isinstance(hint, type) and issubclass(hint, State):
        return hint
    found = (_state_in(inner) for inner in get_args(hint))
    return next((cls for cls in found if cls is not None), None)
