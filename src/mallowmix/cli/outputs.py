"""Files that a command writes: checked before the work, then written all of them or none."""

import contextlib
import csv
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mallowmix.cli.shell import files_written
from mallowmix.data.atomic_write import replacing
from mallowmix.data.optional_packages import optional_package
from mallowmix.data.spreadsheet_text import csv_value
from mallowmix.data.text import joined
from mallowmix.errors import FileError, OptionError, did_you_mean

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.infer.posterior.posterior_sample import PosteriorSample
    from mallowmix.model.fitted_model import AnyModel

TABLES = (".parquet", ".csv")
PICTURES = (".png", ".svg", ".pdf")
DRAWS = (".nc", ".netcdf")
Writer = Callable[[Path], object]


class _Tried(Exception):
    """Ends a trial."""


def try_outputs(*outputs: Path, inputs: Iterable[Any] = ()) -> None:
    """Fail before the work if a file cannot be written or is named twice; nothing is changed."""
    taken = [os.path.realpath(path) for path in inputs if isinstance(path, Path)]
    for path in outputs:
        if os.path.realpath(path) in taken:
            _refuse_model(path)
            raise OptionError(
                f"{path} is named twice: give every input and output its own name.",
                option="output",
                value=path,
                expected="a name of its own",
            )
        taken.append(os.path.realpath(path))
        if path.suffix.lower() in PICTURES:
            optional_package("matplotlib", f"The picture {path}")
        with contextlib.suppress(_Tried), replacing(path):
            raise _Tried


def _refuse_model(path: Path) -> None:
    """Say so where a model was named as votes: by its default name, it would be the output too."""
    if path.suffix.lower() == ".m4":
        raise FileError(
            f"{path} is a model, not comparisons, and would be overwritten: name the file of the "
            "comparisons, and another output where the model is to stay."
        )


def write_all(writers: Mapping[Path, Writer]) -> None:
    """Write every file to a temporary one beside it; when the last is done, move them all in."""
    with contextlib.ExitStack() as files:
        for path, write in writers.items():
            write(files.enter_context(replacing(path)))
    files_written.extend(writers)


def check_table_name(path: Path) -> None:
    """Raise an OptionError unless the ending says in which form to write a table."""
    check_ending(path, TABLES)


def check_ending(path: Path, endings: tuple[str, ...], how: str = "write it") -> None:
    """Raise an OptionError, with the nearest ending, unless a name has one of these."""
    if path.suffix.lower() not in endings:
        known = joined(endings, "or")
        raise OptionError(
            f"{path}: the ending {path.suffix!r} does not tell how to {how}; use {known}."
            f"{did_you_mean(path.suffix, endings)}",
            option="output",
            value=path,
            expected=f"a name that ends in {known}",
        )


def table_writer(table: Any, path: Path) -> Writer:
    """Return a function that writes an Arrow table in the format of the name."""
    return (
        (lambda temporary: _write_csv(table, temporary))
        if path.suffix.lower() == ".csv"
        else (lambda temporary: _write_parquet(table, temporary))
    )


def _write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")


def _write_csv(table: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table.column_names)
        for batch in table.to_batches(max_chunksize=100_000):
            columns = (map(csv_value, column.to_pylist()) for column in batch.columns)
            lines.writerows(zip(*columns, strict=True))


def votes_table(comparisons: "Comparisons") -> Any:
    """user, winner, loser, weight, repeated rows merged; reads back as the same comparisons."""
    import numpy as np
    import pyarrow as pa

    table = comparisons.to_arrow()
    if np.all(comparisons.weight == np.floor(comparisons.weight)):
        table = table.set_column(3, "weight", table.column("weight").cast(pa.int64()))  # 2, not 2.0
    return table


def weights_table(users: Any, theta: Any, names: tuple[str, ...] = ()) -> Any:
    """user, component_1 … component_K, with the names of components that have one."""
    import pyarrow as pa

    from mallowmix.model.names import component_titles

    titles = component_titles(names, theta.shape[1], "component_")
    columns = [theta[:, k] for k in range(theta.shape[1])]
    return pa.table({"user": users.tolist()} | dict(zip(titles, columns, strict=True)))


def model_writer(model: "AnyModel") -> Writer:
    """Return a function that writes a model."""
    from mallowmix.model.model_file import dumps

    data = dumps(model)
    return lambda temporary: temporary.write_bytes(data)


def draws_writer(sample: "PosteriorSample") -> Writer:
    """Return a function that writes draws as NetCDF.

    They are packed in memory: where a disk is full, HDF5 ends the process.
    """
    data = sample.to_xarray().to_netcdf(engine="h5netcdf")
    return lambda temporary: temporary.write_bytes(data)
