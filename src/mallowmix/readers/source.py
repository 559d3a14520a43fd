"""read_comparisons: one function for every source, a path or a table."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from mallowmix.columns import Policy
from mallowmix.comparisons import Comparisons
from mallowmix.errors import check_choice
from mallowmix.readers.files import read_path
from mallowmix.readers.headers import check_columns
from mallowmix.readers.tables import Policies, read_table


def read_comparisons(
    source: Any,
    *,
    columns: Mapping[str, Any] | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
) -> Comparisons:
    """Comparisons from a file or a table with the columns user, winner, loser and, optionally, weight.

    source : a path (.csv, .tsv, either with .gz, .parquet, or a folder of .parquet files), any dataframe (pandas, polars, …), an
        Arrow table, a mapping of columns, or a list of tuples (user, winner, loser[, weight])
    columns : our name → their name where they differ, as in {"user": "judge", "winner": "better", "loser": "worse"}; other
        columns are ignored, and so is the weight with {"weight": None}
    self_pairs, missing : what to do with a row that compares a thing with itself or lacks a value: "error" or "drop"

    Labels of a CSV file are text (`007` stays `007`, `NA` is a name), and only the empty field counts as missing; labels from
    anywhere else keep their type.
    """
    check_choice("self_pairs", self_pairs, ("error", "drop"))
    check_choice("missing", missing, ("error", "drop"))
    check_columns(columns)
    policies = Policies(self_pairs, missing)
    if isinstance(source, str | PathLike):
        return read_path(source, columns, policies)
    return read_table(source, columns, policies)
