"""``python -m sumbo`` is the command line, where no script is on the path."""

from sumbo.cli import app

app(prog_name="sumbo")
