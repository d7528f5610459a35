"""References: every key that code cites is in the bibliography."""

import os
import re
from pathlib import Path

from sumbo.testing.claims import require


def check_citation(key: str, bibliography: str | os.PathLike[str]) -> None:
    """Check that a BibTeX file has an entry with that key."""
    text = Path(bibliography).read_text("utf-8")
    keys = re.findall(r"^\s*@\w+\s*\{\s*([^\s,]+)\s*,", text, flags=re.MULTILINE)
    require(
        key in keys,
        f"cite={key!r} has no entry in {os.fspath(bibliography)!r}. Add one.",
    )
