"""store_comparisons: from files of any size to comparisons on disk, whole or not at all."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.argument_kinds import as_path
from mallowmix.data.memory_size import check_memory
from mallowmix.data.ranking_ids import OWN
from mallowmix.engine.blocks import MAX_ITEMS
from mallowmix.engine.out_of_core.duckdb_connection import connect, explain_duckdb_errors
from mallowmix.engine.out_of_core.flat_arrays import pair_type
from mallowmix.engine.out_of_core.partition import (
    WHOLE,
    Merged,
    merged_parts,
    plan_parts,
    write_parts,
)
from mallowmix.engine.out_of_core.scan import Scan
from mallowmix.engine.out_of_core.source_files import Source, find_source
from mallowmix.engine.out_of_core.stored_blocks import (
    FORMAT,
    StoredComparisons,
    read_about,
)
from mallowmix.errors import DataError, FileError, Option

_SQL = {np.uint32: "UINTEGER", np.uint64: "UBIGINT"}


def store_comparisons(
    source: Any,
    cache: str | Path | None = None,
    *,
    memory: str | float = "2GB",
    columns: Mapping[str, Any] | None = None,
    self_pairs: str = "error",
    missing: str = "error",
    n_jobs: int | None = None,
) -> StoredComparisons:
    r"""Sort comparisons that need not fit into memory into a folder, to be read block by block.

    Parameters
    ----------
    source : str, Path or list of these
        Files of user, winner, loser and perhaps weight and ranking_id: a path (.parquet, .csv,
        .tsv, these two also with .gz), a folder of .parquet files, a pattern such as
        ``choices-*.parquet``, or a list. What a .gz and a .parquet may unpack to
        is limited, as in `read_comparisons`.
    cache : str or Path, optional
        The folder; `NAME.blocks` in the current one unless given. One that exists is used if it was
        made from the same files.
    memory : str or float
        A bound for data and work arrays, as in "2GB"; the interpreter and its libraries are not
        counted.
    columns, self_pairs, missing
        As in `read_comparisons`.
    n_jobs : int, optional
        How many threads; all cores unless given.

    Returns
    -------
    StoredComparisons
        To be given to `fit` instead of comparisons.

    Raises
    ------
    FileError
        Where a file cannot be read, the disk is full, or the folder was made from other files.
    DataError
        Where rows are wrong, as in `read_comparisons`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mallowmix as mm
    >>> folder = Path(tempfile.mkdtemp())
    >>> text = "user,winner,loser\nann,tea,milk\nbob,milk,tea\n"
    >>> _ = (folder / "choices.csv").write_text(text)
    >>> mm.store_comparisons(folder / "choices.csv", folder / "choices.blocks")
    StoredComparisons(2 comparisons of 2 items by 2 users)
    """
    limit = check_memory(memory)
    found = find_source(source, columns, self_pairs, missing)
    folder = Path(default_cache(source)) if cache is None else as_path(cache, "cache", "folder")
    if folder.exists():
        return _opened(folder, found)
    with _beside(folder) as building, explain_duckdb_errors(found.files):
        _check_space(building, found)
        found.check_files()
        _build(building, found, limit, n_jobs or os.cpu_count() or 1)
    return StoredComparisons(folder)


def default_cache(source: Any) -> str:
    """The folder unless given: votes.blocks for votes.csv, votes-*.parquet and the folder votes."""
    first = Path(source if isinstance(source, str | Path) else next(iter(source)))
    stem = first.resolve().name.split(".")[0].split("*")[0].rstrip("-_")
    return f"{stem or 'votes'}.blocks"


def _opened(folder: Path, source: Source) -> StoredComparisons:
    made_from, given = read_about(folder)["source"], json.loads(json.dumps(source.identity()))
    if made_from != given:
        raise FileError(
            f"{folder} holds other comparisons than {source.files[0]}"
            f"{' and the other files' * (len(source.files) > 1)} now do: remove it, or name "
            "another folder with ",
            Option("cache"),
            ".",
        )
    return StoredComparisons(folder)


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A folder to build in, which is renamed when all is well, and removed when it is not."""
    _clear(folder)
    building = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        building.mkdir(parents=True)
        yield building
        building.rename(folder)
    except OSError as error:
        raise FileError(
            f"{folder} cannot be written: {error.strerror or error}. "
            "Make room, or name another folder with ",
            Option("cache"),
            ".",
        ) from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove half-built folders of runs that were killed."""
    for left in folder.parent.glob(f".{folder.name}.*.tmp"):
        process = left.name.removeprefix(f".{folder.name}.").split("-")[0]
        if process.isdigit() and not _alive(int(process)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _check_space(folder: Path, source: Source) -> None:
    """Refuse a disk that is far too small before hours of work; Parquet rows take about 4 bytes."""
    free, needed = shutil.disk_usage(folder).free, source.nbytes()
    if free < needed:
        raise FileError(
            f"{folder.parent} has {free / 1e9:.1f} GB left, and sorting {needed / 1e9:.1f} GB of "
            "comparisons takes about as much again and more: make room, or name a folder on a "
            "larger disk with ",
            Option("cache"),
            ".",
        )


def _build(folder: Path, source: Source, memory: int, n_jobs: int) -> None:
    con = connect(memory // 2, n_jobs, folder / "spill")
    scan = Scan(con, source)
    n_rows, n_users = scan.number()
    items = scan.items()
    if len(items) > MAX_ITEMS:
        raise DataError(
            f"There are {len(items):,} items; at most {MAX_ITEMS:,} can be numbered as pairs. "
            "Keep those compared most."
        )
    kind = {"weighted": scan.weighted, "ranked": scan.ranked}
    plan = plan_parts(n_rows, n_users, len(items), memory // 2, **kind)
    write_parts(scan.coded(len(items), plan.users_a_part, _SQL[plan.key]), plan, folder)
    scan.write_users(folder / "users.parquet")
    con.close()
    shutil.rmtree(folder / "spill", ignore_errors=True)
    sizes = _write_rows(folder, merged_parts(plan, n_users, len(items), folder, **kind), len(items))
    about = {
        "format": FORMAT,
        "n_users": n_users,
        **sizes,
        "items": items.tolist(),
        "source": source.identity(),
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _write_rows(folder: Path, parts: Iterator[Merged], n_items: int) -> dict[str, Any]:
    """Write the flat arrays of `engine.out_of_core.stored_blocks`, part after part."""
    rows = _Rows(folder, n_items)
    for part in parts:
        rows.add(part)
    rows.close()
    sizes = {"n_rows": rows.n_rows, "n_comparisons": rows.n_comparisons}
    return sizes | ({"ranked": True} if rows.ranked else {})


class _Rows:
    """Arrays that grow at their ends."""

    def __init__(self, folder: Path, n_items: int) -> None:
        names = ("starts", "pair", "weight", "other_rows", "other_weights", "ranking_id")
        self.files = {name: (folder / name).open("wb") for name in names}
        self.folder, self.n_items, self.n_rows, self.n_comparisons = folder, n_items, 0, 0.0
        self.ranked = False
        self.pairs = np.zeros(n_items**2)
        self.files["starts"].write(np.zeros(1, np.int64).data)

    def add(self, part: Merged) -> None:
        whole = (part.weight == np.floor(part.weight)) & (part.weight <= WHOLE)
        others = np.flatnonzero(~whole)
        arrays = {
            "starts": self.n_rows + np.cumsum(part.lengths),
            "pair": part.pair.astype(pair_type(self.n_items)),
            "weight": np.where(whole, part.weight, 0).astype(np.uint8),
            "other_rows": self.n_rows + others,
            "other_weights": part.weight[others],
            "ranking_id": self._ids(part),
        }
        for name, array in arrays.items():
            self.files[name].write(np.ascontiguousarray(array).data)
        self.n_rows += len(part.pair)
        self.n_comparisons += float(part.weight.sum())
        self.pairs += np.bincount(part.pair, part.weight, self.n_items**2)

    def _ids(self, part: Merged) -> NDArray[np.int32]:
        """Ids from the first part on that has some; those before are filled in."""
        if part.ranking_id is None:
            return np.full(len(part.pair) if self.ranked else 0, OWN, np.int32)
        if not self.ranked:
            np.full(self.n_rows, OWN, np.int32).tofile(self.files["ranking_id"])
        self.ranked = True
        return part.ranking_id

    def close(self) -> None:
        for file in self.files.values():
            file.close()
        if not self.ranked:
            (self.folder / "ranking_id").unlink()
        self.pairs.tofile(self.folder / "pairs")
