"""What is counted, and the table of it."""

from dataclasses import dataclass


@dataclass
class Tally:
    """The outcome of one kind of fault.

    Attributes:
        fault: What was done, in words.
        tried: How often.
        survived: How often everything was as promised afterwards.
        lost: Values that were told and are gone, or that are wrong without a word.
        kills: How many of the faults are kills of processes.
        notes: What did not go as promised.
    """

    fault: str
    tried: int = 0
    survived: int = 0
    lost: int = 0
    kills: int = 0
    notes: tuple[str, ...] = ()

    def add(self, *, wrong: str = "", lost: int = 0, kills: int = 0) -> None:
        """Count one fault; ``wrong`` says what was not as promised, if anything."""
        self.tried += 1
        self.survived += not wrong and not lost
        self.lost += lost
        self.kills += kills
        if wrong or lost:
            self.notes += (wrong or f"{lost} values lost",)

    @property
    def passed(self) -> bool:
        """Whether all faults were survived."""
        return self.survived == self.tried


def table(tallies: list[Tally]) -> str:
    """Return the table in Markdown, with a line of totals."""
    lines = ["| fault | tried | survived | values lost |", "|---|--:|--:|--:|"]
    total = Tally("all")
    for t in tallies:
        lines.append(f"| {t.fault} | {t.tried} | {t.survived} | {t.lost} |")
        total.tried += t.tried
        total.survived += t.survived
        total.lost += t.lost
    lines.append(f"| all | {total.tried} | {total.survived} | {total.lost} |")
    return "\n".join(lines)
