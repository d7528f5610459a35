"""Studies: a TOML design becomes cells, records, statistics, figures and a report."""

from sumbo.study.design import Cell, Design, select
from sumbo.study.engine import Status, Summary, run, status
from sumbo.study.export import export
from sumbo.study.reading import load_design
from sumbo.study.report import report
from sumbo.study.results import Results, load
from sumbo.study.rows import export_rows
from sumbo.study.storage import FailedCell, Record
from sumbo.study.verdict import Verdict, verdict, verdicts

__all__ = [
    "Cell",
    "Design",
    "FailedCell",
    "Record",
    "Results",
    "Status",
    "Summary",
    "Verdict",
    "export",
    "export_rows",
    "load",
    "load_design",
    "report",
    "run",
    "select",
    "status",
    "verdict",
    "verdicts",
]
