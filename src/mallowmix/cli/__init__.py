"""The command line, `mallowmix`: options into one library call, a result into words."""

from mallowmix.cli.app import app as app
from mallowmix.cli.app import main as main

__all__ = ["app", "main"]
