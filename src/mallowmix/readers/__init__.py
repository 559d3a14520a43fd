"""Readers: from tables, files and databases in any form (battles, ratings, …) to `Comparisons`."""

from mallowmix.readers.calls import read_battles as read_battles
from mallowmix.readers.calls import read_bayesmallows as read_bayesmallows
from mallowmix.readers.calls import read_best_worst as read_best_worst
from mallowmix.readers.calls import read_choix as read_choix
from mallowmix.readers.calls import read_implicit as read_implicit
from mallowmix.readers.calls import read_preflib as read_preflib
from mallowmix.readers.calls import read_rankings as read_rankings
from mallowmix.readers.calls import read_ratings as read_ratings
from mallowmix.readers.reading import Reading as Reading
from mallowmix.readers.source import read as read
from mallowmix.readers.source import read_comparisons as read_comparisons

__all__ = [
    "Reading",
    "read",
    "read_battles",
    "read_bayesmallows",
    "read_best_worst",
    "read_choix",
    "read_comparisons",
    "read_implicit",
    "read_preflib",
    "read_rankings",
    "read_ratings",
]
