"""What a comparison of groups of people yields: shares with intervals, and tests."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from mallowmix.data.frames import as_frame
from mallowmix.data.text import list_of, name_of, percent, table_of


@dataclass(frozen=True)
class GroupShare:
    """The mean weight of a component (numbered from 1) in a group of users, with its interval."""

    attribute: str
    group: str
    n_people: int
    component: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupTest:
    """Whether the groups of an attribute differ: a permutation test.

    Attributes
    ----------
    statistic : float or None
        Studentised (`compare_groups`).
    p_value : float or None
        None where fewer than two groups have two users or more.
    p_holm : float or None
        The p-value after Holm's correction for all attributes.
    """

    attribute: str
    n_groups: int
    n_people: int
    statistic: float | None
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True)
class Groups:
    """Shares by group, and a test for each attribute; `level` is that of the intervals."""

    level: float
    shares: tuple[GroupShare, ...]
    tests: tuple[GroupTest, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "level": self.level,
            "shares": [asdict(row) for row in self.shares],
            "tests": [asdict(row) for row in self.tests],
        }

    def to_frame(self, like: Any = None) -> Any:
        """Attribute, group, n_people, component, share, low, high: a row for each share.

        Parameters
        ----------
        like : {"pandas", "polars", "pyarrow"} or a table, optional
            The kind of table; Arrow unless given.
        """
        names = [each.name for each in fields(GroupShare)]
        return as_frame({name: [getattr(row, name) for row in self.shares] for name in names}, like)

    def _repr_html_(self) -> str:
        """Shares with intervals and the tests in words, for notebooks."""
        rows = [
            (
                name_of(f"{row.attribute}: {row.group}"),
                f"{row.n_people:,}",
                str(row.component),
                f"{percent(row.share)} ({percent(row.low)} to {percent(row.high)})",
            )
            for row in self.shares
        ]
        table = table_of(("group", "people", "component", "share"), rows)
        return table + list_of(self.words().splitlines())

    def words(self) -> str:
        """One sentence for each attribute."""
        return "\n".join(_test_words(test) for test in self.tests)


def _test_words(test: GroupTest) -> str:
    if test.p_holm is None:
        return f"{test.attribute}: there are no two groups of two people or more to compare."
    seen = test.p_holm <= 0.05
    differ = "its groups differ" if seen else "no difference between its groups can be seen"
    return (
        f"{test.attribute}: {differ} (p = {test.p_holm:.2g} after correction, "
        f"{test.n_groups} groups, {test.n_people} people)."
    )
