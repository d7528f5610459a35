"""One word, one meaning: no class or type has the name of another one."""

import ast
from collections import defaultdict
from pathlib import Path

import sumbo

ROOT = Path(sumbo.__file__).parent
# The interface that lower layers know, and the class that has it.
TWO_HOMES = {"Region": {"typing.py", "space/region.py"}}


def homes():
    """Return the files that define each class or type of sumbo, by its name."""
    found = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign):
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            for name in names:
                # Constants are in capitals; a type variable is one letter.
                if name[0].isupper() and any(c.islower() for c in name):
                    found[name].add(path.relative_to(ROOT).as_posix())
    return found


def test_every_class_has_a_name_of_its_own():
    found = homes()
    assert {"Record", "Failure", "Part", "Kernel"} <= set(found)
    assert {name: files for name, files in found.items() if len(files) > 1} == TWO_HOMES
