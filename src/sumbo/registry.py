"""Registries: a new file in a package, or an entry point, adds a name."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from sumbo.errors import ArgumentError, UnknownNameError

T = TypeVar("T")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the names closest to ``name``."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(c) for c in close)}?"
    return f"Known names: {', '.join(known)}."


class Registry(Generic[T]):
    """Named objects of one kind, found in the files of a package on first use.

    Third parties join through the entry point group of the package's name, for
    example ``[project.entry-points."sumbo.methods"]``.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._items: dict[str, T] = {}
        self._loaded = False

    def register(self, *names: str) -> Callable[[T], T]:
        """Return a decorator that registers its object under ``names``.

        Raises:
            ArgumentError: If a name is taken by another object.
        """

        def add(item: T) -> T:
            for name in names:
                if name in self._items and self._items[name] is not item:
                    msg = (
                        f"{self.kind} {name!r} is registered already, as "
                        f"{self._items[name]!r}. Choose another name."
                    )
                    raise ArgumentError(msg)
                self._items[name] = item
            return item

        return add

    def get(self, name: str) -> T:
        """Return the object called ``name``.

        Raises:
            UnknownNameError: If there is none; the nearest names are suggested.
        """
        self._load()
        if name not in self._items:
            msg = f"{self.kind}={name!r} is unknown. {nearest(str(name), self._items)}"
            raise UnknownNameError(msg)
        return self._items[name]

    def names(self) -> tuple[str, ...]:
        """Return all registered names, in order of registration."""
        self._load()
        return tuple(self._items)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        for point in entry_points(group=self.package):
            point.load()
