"""Readers: from tables, files and databases in any form (battles, ratings, …) to `Comparisons`."""

from .calls import read_battles as read_battles
from .calls import read_bayesmallows as read_bayesmallows
from .calls import read_best_worst as read_best_worst
from .calls import read_choix as read_choix
from .calls import read_implicit as read_implicit
from .calls import read_preflib as read_preflib
from .calls import read_rankings as read_rankings
from .calls import read_ratings as read_ratings
from .reading import Reading as Reading
from .source import read as read
from .source import read_comparisons as read_comparisons

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
