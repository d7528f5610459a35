"""The command line, one file per sub-command."""

from sumbo.cli.app import app

__all__ = ["app"]
