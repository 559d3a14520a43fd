"""The votes as a table, CSV or Parquet, with the columns that `read_comparisons` reads."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.data.spreadsheet_text import escaped
from mallowmix.web.vote_store import Archive, person_name


def export_table(archive: Archive) -> pa.Table:
    """user, winner, loser and origin of every decided vote, in the order in which they came.

    Participants who began from one address have the same origin; it does not show the address.
    """
    (rows, names), origins = archive.rows(), archive.origins()
    people = rows[:, 1].tolist()
    return pa.table(
        {
            "user": pa.array([person_name(number) for number in people], pa.string()),
            "winner": pa.array([names[number] for number in rows[:, 2].tolist()], pa.string()),
            "loser": pa.array([names[number] for number in rows[:, 3].tolist()], pa.string()),
            "origin": pa.array([origins.get(number) for number in people], pa.string()),
        }
    )


def as_parquet(table: pa.Table) -> bytes:
    """The table as a file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def as_csv(table: pa.Table) -> bytes:
    """Return the table as CSV; no label is a formula where a spreadsheet opens it.

    Reading with mallowmix gives the labels back as they were.
    """
    sink = io.StringIO(newline="")
    writer = csv.writer(sink)
    writer.writerow(table.column_names)
    columns = [map(_cell, column.to_pylist()) for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return sink.getvalue().encode()


def _cell(value: str | None) -> str | None:
    return None if value is None else escaped(value)
