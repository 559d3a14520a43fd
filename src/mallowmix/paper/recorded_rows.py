"""Rows of one run of an experiment, with the record of where they come from beside them."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mallowmix.paper.experiment import Row
from mallowmix.paper.provenance import run_record
from mallowmix.paper.result_log import add_run, append_row

_RECORD_SECONDS = 20.0  # a run that is killed leaves rows of so long without a record, at most


class RecordedRows:
    """What one run adds to a CSV file; its record is written now and then, and at its end.

    Parameters
    ----------
    path : Path
        The CSV file.
    options : mapping
        What the run was started with.
    seeds : iterable of int
        Its seeds.
    """

    def __init__(self, path: Path, options: Mapping[str, Any], seeds: Iterable[int]) -> None:
        self.path, self.options, self.seeds = path, options, list(seeds)
        self._keys: list[list[str]] = []
        self._n_recorded, self._recorded_at = 0, time.monotonic()

    def add(self, key: Iterable[str], row: Row) -> None:
        """Append a row to the file.

        Parameters
        ----------
        key : sequence of str
            What identifies it.
        row : dict
            Its values by column.
        """
        append_row(self.path, row)
        self._keys.append(list(key))

    def record_if_due(self) -> None:
        """Write the record where the last one is some time ago."""
        if time.monotonic() - self._recorded_at > _RECORD_SECONDS:
            self.record()

    def record(self) -> None:
        """Write the record of all rows so far, unless it is there."""
        if len(self._keys) > self._n_recorded:
            add_run(self.path, {"rows": [*self._keys], **run_record(self.options, self.seeds)})
            self._n_recorded, self._recorded_at = len(self._keys), time.monotonic()
