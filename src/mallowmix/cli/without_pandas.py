"""Commands that answer about one person do without pandas, which Arrow would import for itself.

Arrow imports pandas, where it is installed, to recognise its objects. A command has none of them,
and the import takes longer than the answer.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any

LIGHT_COMMANDS = frozenset({"rank", "predict"})


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuse pandas; leave everything else to the other finders."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by this command.", name=fullname)


def leave_pandas_out(words: Sequence[str]) -> None:
    """Let nothing import pandas from here on, in the process of a command that needs none.

    Parameters
    ----------
    words : sequence of str
        The words of the command line, the command first.
    """
    if set(words[:1]) & LIGHT_COMMANDS:
        sys.meta_path.insert(0, _NoPandas())
