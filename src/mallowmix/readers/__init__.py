"""Readers: from any outside form (a dataframe, an Arrow table, tuples, CSV, Parquet) to `Comparisons`."""

from mallowmix.readers.source import read_comparisons as read_comparisons

__all__ = ["read_comparisons"]
