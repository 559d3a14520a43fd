"""Finished passes on disk: the sum of each, so that a killed run can continue.

The name of a file is a digest of the data, the step and what was broadcast.
"""

import hashlib
import json
import pickle
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mallowmix.data.atomic_write import replacing
from mallowmix.engine.blocks import AnyBlock, Shard
from mallowmix.engine.engine import ReduceStep

_NONE = "none"


class FinishedPasses:
    """A folder of sums of passes over stored shards; others are fast enough (`of_stored`).

    Parameters
    ----------
    folder : Path
        Where they are stored.
    fingerprint : str
        The digest of the data.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder, self.fingerprint = folder, fingerprint

    def find(self, step: ReduceStep[Any, Any], broadcast: object) -> tuple[Any, bool]:
        """The sum, and whether it is there."""
        file = self._file(step, broadcast)
        if not file.exists():
            return None, False
        try:
            return _read(file), True
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):  # damaged: done again
            return None, False

    def keep(self, step: ReduceStep[Any, Any], broadcast: object, total: Any) -> None:
        """Store the sum, whole or not at all."""
        self.folder.mkdir(exist_ok=True)
        with replacing(self._file(step, broadcast)) as temporary:
            _write(temporary, total)

    def forget(self) -> None:
        """Remove all, when the run has ended well."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, step: ReduceStep[Any, Any], broadcast: object) -> Path:
        digest = hashlib.sha256(self.fingerprint.encode())
        digest.update(step.name.encode())
        digest.update(pickle.dumps(broadcast, protocol=5))
        return self.folder / f"{digest.hexdigest()[:32]}.npz"


def of_stored(blocks: Sequence[AnyBlock]) -> bool:
    """Whether these blocks are shards of stored blocks."""
    return bool(blocks) and isinstance(blocks[0], Shard) and blocks[0].is_stored


def _write(file: Path, total: Any) -> None:
    parts = total if isinstance(total, tuple) else (total,)
    kinds = [
        _NONE if part is None else "array" if isinstance(part, np.ndarray) else type(part).__name__
        for part in parts
    ]
    shape = json.dumps({"tuple": isinstance(total, tuple), "kinds": kinds})
    arrays = {f"part_{i}": np.asarray(part) for i, part in enumerate(parts) if part is not None}
    with file.open("wb") as out:
        np.savez(out, **{"shape": np.array(shape)} | arrays)  # type: ignore[arg-type]


def _read(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as found:
        shape = json.loads(str(found["shape"]))
        parts = tuple(
            None
            if kind == _NONE
            else found[f"part_{i}"]
            if kind == "array"
            else found[f"part_{i}"].item()
            for i, kind in enumerate(shape["kinds"])
        )
    return parts if shape["tuple"] else parts[0]
