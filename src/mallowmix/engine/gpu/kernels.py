"""The passes of `engine.gpu.device_arrays` as fused CUDA kernels.

CuPy compiles them on the first call, from kernels.cu beside this file.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

THREADS = 256
MOST_SHARED = 160_000  # bytes of shared memory that a block may count in: Q = 200 fits
MOST_LANES = 32  # of `fold`: 128 components
DeviceArray: TypeAlias = Any
"""An array of the device: of CuPy, or of NumPy where its forms are tested on the host."""


class Kernels:
    """Launches of kernels on one GPU.

    Tables have their columns padded to whole groups of four, as wide as a group of threads reads.

    Parameters
    ----------
    cupy : module
        CuPy.
    """

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.n_processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        self._modules: dict[tuple[int, int], Any] = {}

    def count_pairs(self, pair: DeviceArray, n_codes: int) -> DeviceArray:
        """(codes,) how often each code occurs; None where counters do not fit in shared memory."""
        if 4 * n_codes > MOST_SHARED:
            return None
        kernel = self._kernel("count_pairs", 8, 8)
        kernel.max_dynamic_shared_size_bytes = MOST_SHARED
        out = self.cupy.zeros(n_codes, np.uint32)
        arguments = (pair, np.int64(len(pair)), np.int32(n_codes), out)
        kernel((self.n_processors,), (1024,), arguments, shared_mem=4 * n_codes)
        return out

    def signed_pass(
        self,
        starts: DeviceArray,
        pair: DeviceArray,
        weight: DeviceArray,
        scale: DeviceArray,
        W: DeviceArray,
    ) -> DeviceArray:
        """(codes, b) Nᵀ diag(scale) N W, N the (users, codes) counts."""
        b = W.shape[1]
        lanes = 2 * -(-b // 8)  # whole sectors of 32 bytes
        table, out = self._padded(W, 4 * lanes), self.cupy.zeros((len(W), 4 * lanes), np.float32)
        n_users, users_a_block = len(starts) - 1, THREADS // lanes
        arguments = (starts, pair, self._or_null(weight), scale, table, out, np.int32(n_users))
        self._kernel("signed_pass", lanes, 8)(
            (-(-n_users // users_a_block),), (THREADS,), arguments
        )
        return out[:, :b]

    def fold(
        self,
        starts: DeviceArray,
        pair: DeviceArray,
        weight: DeviceArray,
        user_weight: DeviceArray,
        table: DeviceArray,
        alpha: DeviceArray,
        gamma: DeviceArray,
        inner: int,
        fresh: bool,
    ):
        """Do the E-step of `device_arrays.batch_e_step`; `gamma` (users, K) is changed in place.

        Returns
        -------
        tuple
            Counts (codes, K), the bound, and Σ E log θ_k with Σ u_m last.
        """
        cp, K = self.cupy, table.shape[1]
        lanes = 1 << max(0, (-(-K // 4) - 1).bit_length())
        padded, counts = (
            self._padded(table, 4 * lanes),
            cp.zeros((len(table), 4 * lanes), np.float32),
        )
        bound, sums = cp.zeros(1), cp.zeros(K + 1)
        n_users = len(starts) - 1
        grid = min(-(-n_users * lanes // THREADS), 8 * self.n_processors)
        arguments = (
            starts,
            pair,
            self._or_null(weight),
            self._or_null(user_weight),
            padded,
            alpha.astype(np.float32),
            gamma,
        )
        arguments += (
            counts,
            bound,
            sums,
            np.int32(n_users),
            np.int32(K),
            np.int32(inner),
            np.int32(fresh),
        )
        self._kernel("fold", 8, lanes)((max(1, grid),), (THREADS,), arguments)
        return counts[:, :K], bound, sums

    def gather(self, table: DeviceArray, rounds: int) -> float:
        """Bytes read by one run of the kernel that measures how fast the GPU gathers rows."""
        blocks = 16 * self.n_processors
        self._kernel("gather_rate", 8, 8)(
            (blocks,), (THREADS,), (table, np.uint32(len(table)), np.int32(rounds), table)
        )
        return float(blocks * THREADS * rounds * 16)

    def _or_null(self, array: DeviceArray) -> DeviceArray:
        return np.uint64(0) if array is None else array

    def _padded(self, table: DeviceArray, width: int) -> DeviceArray:
        out = self.cupy.zeros((len(table), width), np.float32)
        out[:, : table.shape[1]] = table
        return out

    def _kernel(self, name: str, lanes: int, fold_lanes: int) -> Any:
        key = (lanes, fold_lanes)
        if key not in self._modules:
            options = ("--std=c++17", f"-DLANES={lanes}", f"-DFOLD_LANES={fold_lanes}")
            self._modules[key] = self.cupy.RawModule(code=_source(), options=options)
        return self._modules[key].get_function(name)


@lru_cache(maxsize=1)
def _source() -> str:
    return Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
