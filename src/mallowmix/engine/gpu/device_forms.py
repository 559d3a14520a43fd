"""The steps that have a form for a GPU, by the names of the steps.

Each form returns what its step returns, for a batch of blocks. A form is ``form(arrays, batch,
broadcast, state) -> (sum, new state)``, or `NotImplemented` where it cannot do what the step can;
then threads do it. `tests/test_device.py` compares every form with its step.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mallowmix.engine.gpu import device_arrays
from mallowmix.engine.gpu.device_arrays import Arrays, Batch, Scale

DeviceForm: TypeAlias = Callable[[Arrays, Batch, Any, Any], Any]


def _count_pairs(on: Arrays, batch: Batch, broadcast: Any, state: Any) -> Any:
    return on.give(device_arrays.batch_pair_counts(on, batch)), None


def _signed_rows(on: Arrays, batch: Batch, null_key: Any, state: Any) -> Any:
    if null_key is not None:  # signs are drawn by a counter that the GPU does not have
        return NotImplemented
    scale = device_arrays.user_scale(on, batch)
    return scale.mass, scale


def _signed_moment(on: Arrays, batch: Batch, broadcast: Any, rows: Any) -> Any:
    if not isinstance(rows, Scale):
        return NotImplemented
    part = device_arrays.signed_apply(on, batch, rows, *(on.take(array) for array in broadcast))
    return on.give(part).astype(np.float64), rows


def _variational_e_step(on: Arrays, batch: Batch, broadcast: Any, gamma: Any) -> Any:
    table, alpha, inner = broadcast
    counts, elbo, sums, gamma = device_arrays.batch_e_step(
        on, batch, on.take(table), on.take(alpha), gamma, inner
    )
    return (on.give(counts).astype(np.float64), float(elbo), on.give(sums)), gamma


FORMS: dict[str, DeviceForm] = {
    "count pairs": _count_pairs,
    "signed rows": _signed_rows,
    "signed moment": _signed_moment,
    "variational E-step": _variational_e_step,
}
