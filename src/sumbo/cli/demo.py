"""``sumbo demo``: a small study from design to report."""

from pathlib import Path
from typing import Annotated

import typer

from sumbo import study
from sumbo.cli.output import console
from sumbo.cli.study import show


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder.")] = Path("demo"),
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; default all cores.")
    ] = None,
) -> None:
    """Run a small study end to end: table, figures and report, in two minutes."""
    shown = console()
    shown.print(
        "Thompson sampling with (ts) and without (ats) the correlation between parts, "
        "and the additive confidence bound (alcb2), on random additive functions."
    )
    study.run(study.load_design(_smoke()), out, jobs=jobs)
    show(out, shown)


def _smoke() -> Path:
    """Return the design that comes with the package, or with the checkout."""
    packaged = Path(study.__file__).parent / "designs" / "smoke.toml"
    checkout = Path(study.__file__).parents[3] / "studies" / "smoke.toml"
    return packaged if packaged.exists() else checkout
