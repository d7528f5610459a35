"""Registries: a new file in a package, or an entry point, adds a name."""

import difflib
import importlib
import pkgutil
import traceback
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from sumbo.errors import ArgumentError, UnknownNameError

T = TypeVar("T")
S = TypeVar("S")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the names closest to ``name``."""
    known = sorted(set(known))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(c) for c in close)}?"
    return f"Known names: {', '.join(known)}."


def require_one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Check an argument that has few values.

    Raises:
        ArgumentError: If the value is none of them.
    """
    known = tuple(known)
    if value not in known:
        msg = f"{name}={value!r} is unknown. {nearest(str(value), known)}"
        raise ArgumentError(msg)


def import_named(name: str) -> ModuleType:
    """Return the module called ``name``, which is a user's and may do anything.

    Raises:
        ArgumentError: If it is not found, or raises or exits while it is imported.
    """
    if not all(word.isidentifier() for word in name.split(".")):
        msg = f"module {name!r} is no name of a module. Write one, as in package.module"
        raise ArgumentError(f"{msg}.")
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        reason = " ".join("".join(traceback.format_exception_only(error)).split())
        frames = traceback.extract_tb(error.__traceback__)
        ours = ("<frozen", __file__, importlib.__file__)
        theirs = [f for f in frames if not f.filename.startswith(ours)]
        where = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
        msg = f"module {name!r} cannot be imported: {reason}{where}. Mend it, or check"
        raise ArgumentError(f"{msg} the name and the folder.") from error


class Registry(Generic[T]):
    """Named objects of one kind, found in the files of packages on first use.

    Third parties join through the entry point group of a package's name, for
    example ``[project.entry-points."sumbo.methods"]``. This is how a layer finds what
    lies above it: nothing else of sumbo imports modules by their names.
    """

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self.packages = packages
        self._items: dict[str, T] = {}
        self._loaded = False
        self._loading = False

    def register(self, *names: str) -> Callable[[S], S]:
        """Return a decorator that registers its object under ``names``.

        Raises:
            ArgumentError: If a name is taken by another object.
        """

        # The type of the item is kept, so that subclasses of it are checked too.
        def add(item: S) -> S:
            for name in names:
                if name in self._items and self._items[name] is not item:
                    msg = (
                        f"{self.kind} {name!r} is registered already, as "
                        f"{self._items[name]!r}. Choose another name."
                    )
                    raise ArgumentError(msg)
                self._items[name] = cast(T, item)
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

    def name_of(self, item: T) -> str | None:
        """Return the name under which an object is registered, None if it is not."""
        return next((name for name in self.names() if self._items[name] is item), None)

    def by_class_name(self, name: str, module: str) -> T:
        """Return the registered class of that name, as an attribute of a module.

        Raises:
            AttributeError: If there is none.
        """
        # Dunder names are asked for by the import system, before anything is loaded.
        if not name.startswith("_"):
            self._load()
            for item in self._items.values():
                if getattr(item, "__name__", None) == name:
                    return item
        raise AttributeError(f"module {module!r} has no attribute {name!r}.")

    def _load(self) -> None:
        if self._loaded or self._loading:
            return
        self._loading = True  # a file that is loaded may look up a name
        try:
            for name in self.packages:
                package = importlib.import_module(name)
                for module in pkgutil.iter_modules(package.__path__):
                    importlib.import_module(f"{name}.{module.name}")
                for point in entry_points(group=name):
                    point.load()
            self._loaded = True
        finally:
            self._loading = False
