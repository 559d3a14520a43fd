"""Conversion to comparisons: here public functions convert what they are given."""

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import DataError

if TYPE_CHECKING:
    from mallowmix.readers.reading import Reading

ComparisonsLike: TypeAlias = Any
"""Comparisons, StoredComparisons, Rankings, a path, a dataframe, a mapping, a list of tuples."""


def as_comparisons(source: ComparisonsLike) -> Comparisons:
    """Convert to comparisons in memory; those that are stored are returned as they are.

    Parameters
    ----------
    source : Comparisons, StoredComparisons, or anything that `read_comparisons` takes
        What users preferred.
    """
    if isinstance(source, Comparisons | StoredComparisons):
        return source  # type: ignore[return-value]
    from mallowmix.readers.source import read_comparisons  # here, as Arrow is slow to import

    return read_comparisons(source)


def as_comparisons_in_memory(source: ComparisonsLike, purpose: str) -> Comparisons:
    """Convert to comparisons in memory, and refuse those that are stored.

    Parameters
    ----------
    source : Comparisons, or anything that `read_comparisons` takes
        What users preferred.
    purpose : str
        What they are needed for, at the beginning of a sentence.

    Raises
    ------
    DataError
        Where they are stored.
    """
    _refuse_stored(source, purpose)
    return as_comparisons(source)


def as_reading(source: ComparisonsLike, purpose: str) -> "Comparisons | Reading":
    """Read in memory with what was counted; comparisons are returned as they are.

    Parameters
    ----------
    source : Comparisons, Reading, or anything that `read` takes
        What users preferred.
    purpose : str
        As in `as_comparisons_in_memory`.
    """
    from mallowmix.readers.reading import Reading  # here, as Arrow is slow to import
    from mallowmix.readers.source import read

    _refuse_stored(source, purpose)
    if isinstance(source, Comparisons | Reading):
        return source
    found = read(source)
    for note in found.notes:
        warnings.warn(note, stacklevel=3)
    return found


def _refuse_stored(source: ComparisonsLike, purpose: str) -> None:
    if isinstance(source, StoredComparisons):
        raise DataError(
            f"{purpose} needs the comparisons in memory, and those in {source.folder} stay on "
            "disk: read the comparisons of a part of the users, and give these."
        )
