"""Hypothesis strategies: rankings, dispersions, and good and bad tables of comparisons."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

NEAR_ONE = 1 - 1e-9

dispersions = st.one_of(
    st.sampled_from([0.0, 1e-12, 1e-3, 0.5, 0.999, NEAR_ONE]), st.floats(1e-6, NEAR_ONE)
)
inner_dispersions = st.floats(1e-6, 0.999)  # neither certainty nor chance


def rankings(least: int = 1, most: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    return st.integers(least, most).flatmap(
        lambda n_items: st.permutations(range(n_items)).map(tuple)
    )


def win_tables(least: int = 1, most: int = 6) -> st.SearchStrategy[list[list[float]]]:
    def square(n_items: int) -> st.SearchStrategy[list[list[float]]]:
        entry = st.integers(0, 9) | st.floats(0, 100, allow_subnormal=False)
        return st.lists(
            st.lists(entry, min_size=n_items, max_size=n_items), min_size=n_items, max_size=n_items
        )

    return st.integers(least, most).flatmap(square)


class Rows(NamedTuple):
    """Columns for `Comparisons.from_arrays`."""

    user: list[Any]
    winner: list[Any]
    loser: list[Any]
    weight: list[Any]


text_labels = st.text("abcxyz019 é中", min_size=1, max_size=4)
whole_labels = st.integers(-5, 120)
counts = st.integers(1, 5)


@st.composite
def good_rows(draw: st.DrawFn, weights: st.SearchStrategy[Any] = counts) -> Rows:
    """A small table without fault, of text or of whole numbers."""
    labels = draw(st.sampled_from([text_labels, whole_labels]))
    items = draw(st.lists(labels, min_size=2, max_size=6, unique=True))
    users = draw(st.lists(labels, min_size=1, max_size=4, unique=True))
    pair = st.permutations(items).map(lambda order: order[:2])
    rows = draw(st.lists(st.tuples(st.sampled_from(users), pair, weights), min_size=1, max_size=20))
    return Rows(
        [u for u, _, _ in rows],
        [p[0] for _, p, _ in rows],
        [p[1] for _, p, _ in rows],
        [w for _, _, w in rows],
    )


class BadRows(NamedTuple):
    """A table with one fault: what the message must say, and the number of the faulty row."""

    rows: Rows
    says: str
    row: int


@st.composite
def bad_rows(draw: st.DrawFn) -> BadRows:
    """A good table in which one row was spoilt."""
    rows = Rows(*map(list, draw(good_rows(st.floats(0.5, 5)))))
    row = draw(st.integers(0, len(rows.user) - 1))
    column, value, says = draw(st.sampled_from(_FAULTS))
    getattr(rows, column)[row] = rows.winner[row] if value is _ITSELF else value
    return BadRows(rows, says, row)


_ITSELF = object()
_FAULTS = [
    ("loser", _ITSELF, "with itself"),
    ("user", None, "the user is missing"),
    ("winner", None, "the winner is missing"),
    ("loser", None, "the loser is missing"),
    ("weight", None, "the weight is missing"),
    ("weight", float("nan"), "the weight is missing"),
    ("weight", float("inf"), "is not a finite number"),
    ("weight", -float("inf"), "is not a finite number"),
    ("weight", -1.0, "is negative"),
]
