"""The types that many modules share."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""An array of float64."""

Positions: TypeAlias = NDArray[np.int32]
"""Positions or items of rankings, int32."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called as ``progress(step, done, total)`` during long work."""
