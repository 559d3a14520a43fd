"""People of the file --people: found by name, and read a few at a time, however many there are."""

from dataclasses import dataclass, field

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """Comparisons of known people, whose rows stand together, and everybody's number by name.

    The names are numbered once: a request for one person costs as much as that person's rows.
    """

    comparisons: Comparisons
    number: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = text_of(self.comparisons.users)
        self.number.update({name: m for m, name in enumerate(names)})

    @property
    def n_users(self) -> int:
        """How many there are."""
        return self.comparisons.n_users

    def between(self, first: int, last: int) -> Comparisons:
        """The comparisons of the people numbered from `first` up to `last`, which is left out."""
        known, rows, users = self.comparisons, self._rows(first, last), slice(first, last)
        return Comparisons.from_codes(
            known.user[rows] - first,
            known.winner[rows],
            known.loser[rows],
            known.weight[rows],
            known.items,
            known.users[users],
            known.user_weight[users],
            ranking_id=None if known.ranking_id is None else known.ranking_id[rows],
        )

    def choices(self, person: str) -> list[tuple[str, str, float]] | None:
        """Winner, loser and how often, of each of someone's rows; None for who is not known."""
        m = self.number.get(person)
        if m is None:
            return None
        known, rows = self.comparisons, self._rows(m, m + 1)
        winner, loser = (text_of(known.items[codes[rows]]) for codes in (known.winner, known.loser))
        return list(zip(winner, loser, known.weight[rows].tolist(), strict=True))

    def _rows(self, first: int, last: int) -> slice:
        """Where the rows of some people stand: they are sorted by user."""
        # numbers of the same type, or the whole column would be converted for the search
        ends = np.array([first, last], self.comparisons.user.dtype)
        return slice(*np.searchsorted(self.comparisons.user, ends).tolist())
