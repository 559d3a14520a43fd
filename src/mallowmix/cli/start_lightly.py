"""Commands that answer one question start without what would take longer than the answer.

Arrow imports pandas, where it is installed, to recognise its objects; a command has none of them.
OpenBLAS begins a thread a core when NumPy is imported, each of which first runs idle; the matrices
of one question are small, and larger work is spread over threads of ours.
"""

import gc
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any

LIGHT_COMMANDS = frozenset({"show", "rank", "predict", "next-pair"})
BLAS_THREADS = "OPENBLAS_NUM_THREADS"  # the environment variable
_OBJECTS = 100_000  # new ones, before garbage is looked for


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuse pandas; leave everything else to the other finders."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by this command.", name=fullname)


def start_lightly(words: Sequence[str]) -> None:
    """Let nothing import pandas or begin threads of BLAS, in the process of a light command.

    And let Python look for garbage less often: what a command imports is needed to its end.

    Parameters
    ----------
    words : sequence of str
        The words of the command line, the command first.
    """
    if set(words[:1]) & LIGHT_COMMANDS:
        sys.meta_path.insert(0, _NoPandas())
        os.environ.setdefault(BLAS_THREADS, "1")
        gc.set_threshold(_OBJECTS)
