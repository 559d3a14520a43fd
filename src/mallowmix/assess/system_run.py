"""What one system predicted in one split, and a folder that keeps it.

With such a folder a comparison that was interrupted goes on where it was. A file holds one system
on one split, under a name that depends on all that its result depends on: the split, what is held
out, the candidates for K, the seed, and the version of the package.
"""

import hashlib
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mallowmix._version import __version__
from mallowmix.assess.prediction_task import Task
from mallowmix.data.atomic_write import replacing
from mallowmix.errors import FileError
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
    settings : Any
        Whatever a result depends on beside its task and its system, as JSON.
    """

    def __init__(self, folder: Path, settings: Any) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{folder} cannot be used as a folder: {error.strerror or error}."
            ) from None
        self._folder, self._settings = folder, json.dumps([__version__, settings])

    def read(self, label: str, task: Task) -> SystemRun | None:
        """The run of a system on a task; None where there is no whole file of it."""
        try:
            with np.load(self._file(label, task), allow_pickle=False) as kept:
                values = json.loads(str(kept["values"]))
                values["settings"] = tuple((name, value) for name, value in values["settings"])
                return SystemRun(kept["probability"], **values)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def write(self, label: str, task: Task, run: SystemRun) -> None:
        """Keep a run."""
        packed, values = BytesIO(), run._asdict()
        del values["probability"]
        np.savez_compressed(packed, probability=run.probability, values=json.dumps(values))
        with replacing(self._file(label, task)) as temporary:
            temporary.write_bytes(packed.getvalue())

    def _file(self, label: str, task: Task) -> Path:
        parts = [part.fingerprint() for part in (task.train, task.given, task.held_out)]
        rated = [[list(map(str, column)) for column in part] for part in task.ratings or ()]
        text = json.dumps([label, parts, rated, self._settings])
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"
