"""Reading from any source in any form: `read_comparisons`, and `read` for the details."""

from collections.abc import Mapping
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.row_checks import Policy
from mallowmix.readers.any_source import ColumnNames, comparisons_as, read_as
from mallowmix.readers.reading import BothBad, PerUser, Reading, ReadOptions, Ties, Unlisted, Zero
from mallowmix.readers.text_format import TextFormat


def read_comparisons(
    source: Any,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    ties: Ties | None = None,
    both_bad: BothBad | None = None,
    outcomes: Mapping[str, str] | None = None,
    one_user: bool = False,
    per_user: PerUser = "comparisons",
    top_items: int | None = None,
    unlisted: Unlisted | None = None,
    zero: Zero = "error",
    design: Any = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool = True,
) -> Comparisons:
    """Read comparisons from a file, a database or a table, in any of the forms of choices.

    Parameters
    ----------
    source : path, address or table
        A path (.csv, .tsv, .jsonl, .json, each also with .gz or .zst; .parquet; a folder of
        .parquet files; a pattern such as ``votes-*.parquet``; .xlsx; .sqlite, .duckdb; PrefLib's
        .soc, .soi, .toc, .toi; MovieLens' .mat and .dat; any ending where `format` is given), the
        address of a PostgreSQL database, any dataframe (pandas, polars, …), an Arrow table, a
        mapping of columns, or a list of tuples (user, winner, loser[, weight]).
    format : str
        "comparisons", "bayesmallows", "battles", "ratings", "rankings", "best-worst", "implicit",
        "choix", "preflib" or "movielens"; or an export: "polis", "all-our-ideas", "lmarena",
        "preference-pairs", "label-studio", "argilla", "qualtrics", "google-forms" or "sawtooth".
        Recognised by the columns where that is unmistakable, and then a warning says so unless it
        is plain comparisons.
    columns : mapping
        Our name to theirs where they differ, as in {"user": "judge", "winner": "better", "loser":
        "worse"}; other columns are ignored, and so is the weight with {"weight": None}.
    query : str
        A SELECT, for a database.
    self_pairs, missing : {"error", "drop"}
        What to do with a row that compares an item with itself, or lacks a value.
    ties : {"drop", "half", "error"}
        "drop" leaves ties out (with a warning unless it is given), "half" counts each as half a win
        for both sides, "error" refuses them.
    both_bad : {"drop", "tie", "error"}
        Battles in which both were bad.
    outcomes : mapping
        Battles: further words to "left", "right", "tie" or "both_bad".
    one_user : bool
        Whether a table that does not say who chose may be read as one user's.
    per_user : {"comparisons", "ratings", "equal"}
        Ratings, rankings: how much a user counts in learning: by all their comparisons, about as
        much as the number of their ratings, or as much as every other user.
    top_items : int
        Ratings: keep this many of the most rated items.
    unlisted : {"unknown", "below"}
        Rankings: items that are not listed are not compared, or are below those that are.
    zero : {"error", "missing", "best"}
        Rankings: what the position 0 means.
    design : path or table
        Sawtooth: what was shown, with the columns version, task, item1, item2, …
    separator : str
        Text files: what stands between fields, a character or comma, semicolon, tab, space; found
        out unless given.
    decimal : {".", ","}
        Text files: the decimal sign. Decimal commas are recognised where fields are not separated
        by commas.
    encoding : str
        Text files: such as "latin-1" or "utf-16"; UTF-8 unless given or marked in the file.
    header : bool
        Text files, .xlsx: whether the first line names the columns. Where it does not, they are
        called 1, 2, … in `columns`, and are user, winner, loser[, weight] unless that is given.

    Returns
    -------
    Comparisons
        `read` also returns what was counted.

    Notes
    -----
    Labels of a CSV file are text (`007` stays `007`, `NA` is a name), and only the empty field
    counts as missing; labels from anywhere else keep their type.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read_comparisons([("ann", "tea", "milk"), ("bob", "milk", "tea")]).n_users
    2
    """
    options = ReadOptions(
        self_pairs=self_pairs,
        missing=missing,
        ties=ties,
        both_bad=both_bad,
        outcomes=outcomes,
        one_user=one_user,
        per_user=per_user,
        top_items=top_items,
        unlisted=unlisted,
        zero=zero,
        design=design,
        text=TextFormat(separator=separator, decimal=decimal, encoding=encoding, header=header),
    )
    return comparisons_as(format, source, columns, query, options)


def read(
    source: Any,
    *,
    format: str | None = None,
    columns: ColumnNames | None = None,
    query: str | None = None,
    self_pairs: Policy = "error",
    missing: Policy = "error",
    ties: Ties | None = None,
    both_bad: BothBad | None = None,
    outcomes: Mapping[str, str] | None = None,
    one_user: bool = False,
    per_user: PerUser = "comparisons",
    top_items: int | None = None,
    unlisted: Unlisted | None = None,
    zero: Zero = "error",
    design: Any = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool = True,
) -> Reading:
    """Read as `read_comparisons` does, and return what was counted as well.

    Parameters
    ----------
    source, format, columns, query, self_pairs, missing, ties, both_bad, outcomes, one_user
        As in `read_comparisons`, and so are `per_user`, `top_items`, `unlisted`, `zero`, `design`,
        `separator`, `decimal`, `encoding` and `header`.

    Returns
    -------
    Reading
        The comparisons, the form of their source, and what was counted; warnings are in its
        `notes`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.read({"user": ["ann"], "left": ["tea"], "right": ["milk"], "outcome": ["left"]}).form
    'battles'
    """
    options = ReadOptions(
        self_pairs=self_pairs,
        missing=missing,
        ties=ties,
        both_bad=both_bad,
        outcomes=outcomes,
        one_user=one_user,
        per_user=per_user,
        top_items=top_items,
        unlisted=unlisted,
        zero=zero,
        design=design,
        text=TextFormat(separator=separator, decimal=decimal, encoding=encoding, header=header),
    )
    return read_as(format, source, columns, query, options)
