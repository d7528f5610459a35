"""No page, docstring or message uses the private phrases that the project once had."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each was written for a standard term: what the reader would have to guess.
PRIVATE = (
    r"as (?:it|they) comes?\b(?! from| to)",  # with default settings
    r"told of no noise",  # with deterministic_objective=True
    r"\bbelieves? (?:its|their|less|in)\b",  # uses the posterior mean as the value
    r"points that (?:wait|are (?:still )?out)\b",  # pending points
    r"\bpolish(?:es|ed|ing)\b",  # a local search
    r"\bearns? (?:its|their) place",  # is penalised by
    r"\bthe same law\b|\bthe law of\b|\bconditional law\b",  # the distribution
    r"what not knowing costs",  # the cost of learning the structure
    r"decided nothing",  # held-out functions
    r"\bmended\b|on rereading",  # repaired
    r"not to be had|\bfor those who\b|\bat ease\b|\bhangs? together\b",
)
TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "paper").glob("*.md"),
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "benchmarks").rglob("*.py"),
    *(ROOT / "docs").rglob("*.py"),
    *(ROOT / "studies").glob("*.*"),
]


@pytest.mark.parametrize("phrase", PRIVATE)
def test_no_text_uses_the_private_phrase(phrase):
    found = [
        f"{path.relative_to(ROOT)}: {match.group(0)!r}"
        for path in TEXTS
        for match in re.finditer(phrase, path.read_text("utf-8"), re.IGNORECASE)
    ]
    assert not found


def test_the_pages_are_found():
    assert len(TEXTS) > 200
