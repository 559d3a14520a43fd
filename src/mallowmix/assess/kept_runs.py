"""What one system predicted in one split, and a folder that keeps it.

With such a folder a comparison that was interrupted goes on where it was. A file holds one system
on one split, under a name that depends on all that its result depends on: the split, what is held
out, the candidates for K, the seed, and the version of the package.
"""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.assess.prediction_task import Task
from mallowmix.data.atomic_write import replacing
from mallowmix.data.new_folder import make_folder
from mallowmix.typing import Array


class SystemRun(NamedTuple):
    """What one system predicted in one split, and the time and memory that it took.

    `n_components` is None for a system without components, and for one that had learnt before.
    """

    probability: Array
    rmse: float | None
    seconds: float
    megabytes: float | None
    settings: tuple[tuple[str, float], ...]
    n_components: int | None = None


class KeptRuns:
    """What systems predicted, in the files of one folder.

    Parameters
    ----------
    folder : Path
        Made if need be.
    tasks : sequence of Task
        The splits.
    settings : Any
        Whatever a result depends on beside its task and its system, as JSON.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task], settings: Any) -> None:
        make_folder(folder)
        shared = json.dumps([__version__, settings])
        self._folder, self._keys = folder, [f"{shared} {_fingerprint(task)}" for task in tasks]

    def read(self, label: str, split: int) -> SystemRun | None:
        """The run of a system on a split; None where there is no whole file of it."""
        try:
            with np.load(self._file(label, split), allow_pickle=False) as kept:
                values = json.loads(str(kept["values"]))
                values["settings"] = tuple((name, value) for name, value in values["settings"])
                return SystemRun(kept["probability"], **values)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def write(self, label: str, split: int, run: SystemRun) -> None:
        """Keep a run."""
        packed, values = BytesIO(), run._asdict()
        del values["probability"]
        np.savez_compressed(packed, probability=run.probability, values=json.dumps(values))
        with replacing(self._file(label, split)) as temporary:
            temporary.write_bytes(packed.getvalue())

    def _file(self, label: str, split: int) -> Path:
        return self._folder / f"{_digest(f'{label} {self._keys[split]}')[:24]}.npz"


def _fingerprint(task: Task) -> str:
    """A digest of all that is learnt from, given and held out, ratings too."""
    parts = [part.fingerprint() for part in (task.train, task.given, task.held_out)]
    rated = [[list(map(str, column)) for column in part] for part in task.ratings or ()]
    return _digest(json.dumps([parts, rated]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
