"""The command line, `mallowmix`: options into one library call, a result into words."""

from mallowmix.cli.commands import app as app
from mallowmix.cli.commands import main as main

__all__ = ["app", "main"]
