"""Programs that hang, fork, refuse to end or print without end."""

import sys
import time
from pathlib import Path

from benchmarks.faults.processes import alive
from benchmarks.faults.tally import Tally
from sumbo import Real, Space
from sumbo.cli.objective import Command
from sumbo.errors import EvaluationError

TIMEOUT = 1.5  # seconds
_NOTE = "import os, sys\nopen(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
PROGRAMS = {
    "sleeps": _NOTE + "import time\ntime.sleep(600)\n",
    "ignores SIGTERM and SIGINT": _NOTE
    + "import signal, time\nfor s in (2, 15):\n    signal.signal(s, signal.SIG_IGN)\n"
    "time.sleep(600)\n",
    "forks, and ends while its child holds the output": _NOTE
    + "import time\nif os.fork() == 0:\n"
    "    open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n    time.sleep(600)\n",
    "forks ten that sleep": _NOTE + "import time\nfor _ in range(10):\n"
    "    if os.fork() == 0:\n"
    "        open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "        time.sleep(600)\ntime.sleep(600)\n",
    "prints without end": _NOTE + "while True:\n    print('x' * 9999)\n",
    "never reads, and writes half a line": _NOTE
    + "import time\nsys.stdout.write('3.')\nsys.stdout.flush()\ntime.sleep(600)\n",
}


def hanging(wanted: int, folder: Path) -> Tally:
    """Return what became of evaluations that would never end, and of their programs."""
    tally = Tally("`--command`: program hangs, forks or prints without end")
    space = Space(parameters=(Real("a", 0.2, 0.9),))
    for i in range(wanted):
        name, text = list(PROGRAMS.items())[i % len(PROGRAMS)]
        script, note = folder / f"program-{i}.py", folder / f"pids-{i}"
        script.write_text(text)
        command = Command.of(f"{sys.executable} {script} {note}", space, TIMEOUT)
        begin = time.monotonic()
        try:
            command([0.5])
            wrong = f"{name}: gave a value"
        except EvaluationError:
            wrong = ""
        if time.monotonic() - begin > TIMEOUT + 20.0:
            wrong = f"{name}: took {time.monotonic() - begin:.0f} s"
        pids = [int(p) for p in note.read_text().split()] if note.exists() else []
        time.sleep(0.2)  # a killed process is collected soon, not at once
        left = [pid for pid in pids if alive(pid)]
        tally.add(wrong=wrong or (f"{name}: {len(left)} left" if left else ""))
    return tally
