"""What tests import, and what Numba does before it first compiles: once, before they are forked."""

from typing import Any

import hypothesis.extra.numpy
import numba
import pandas
import pyarrow.compute
import pytest
import scipy.optimize
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats
from numba.core.registry import cpu_target

__all__ = ["hypothesis", "numba", "pandas", "pyarrow", "pytest", "scipy"]

numba_target: Any = cpu_target
numba_target.typing_context.refresh()
numba_target.target_context.refresh()
