"""The votes as a table, CSV or Parquet, with the columns that `read_comparisons` reads."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.web.vote_store import Archive, person_name


def export_table(archive: Archive) -> pa.Table:
    """user, winner, loser of every decided vote, in the order in which they came."""
    rows, names = archive.rows()
    return pa.table(
        {
            "user": pa.array([person_name(number) for number in rows[:, 1].tolist()], pa.string()),
            "winner": pa.array([names[number] for number in rows[:, 2].tolist()], pa.string()),
            "loser": pa.array([names[number] for number in rows[:, 3].tolist()], pa.string()),
        }
    )


def as_parquet(table: pa.Table) -> bytes:
    """The table as a file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def as_csv(table: pa.Table) -> bytes:
    """Return the table as CSV; names are not escaped, so a spreadsheet should import text."""
    sink = io.StringIO(newline="")
    writer = csv.writer(sink)
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return sink.getvalue().encode()
