"""What a comparison of groups of people yields: shares with intervals, and tests."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from mallowmix.data.frames import FramedResult
from mallowmix.data.text import list_of, name_of, percent, table_of
from mallowmix.model.names import component_title


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
class Groups(FramedResult):
    """Shares by group, and a test for each attribute; `level` is that of the intervals.

    `component_names` has the names of the components, where they have some.
    """

    level: float
    shares: tuple[GroupShare, ...]
    tests: tuple[GroupTest, ...]
    component_names: tuple[str, ...] = ()
    frame_kind: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; shares of named components also have the key name."""
        return {
            "level": self.level,
            "shares": [asdict(row) | self._name(row) for row in self.shares],
            "tests": [asdict(row) for row in self.tests],
        }

    def _name(self, row: GroupShare) -> dict[str, str]:
        names = self.component_names
        return {"name": names[row.component - 1]} if names else {}

    def columns(self) -> dict[str, Any]:
        """Attribute, group, n_people, component, share, low, high, name: a row for each share.

        The name is there where components have names.
        """
        rows = self.to_dict()["shares"]
        names = [each.name for each in fields(GroupShare)] + ["name"] * bool(self.component_names)
        return {name: [row[name] for row in rows] for name in names}

    def _repr_html_(self) -> str:
        """Shares with intervals and the tests in words, for notebooks."""
        rows = [
            (
                name_of(f"{row.attribute}: {row.group}"),
                f"{row.n_people:,}",
                name_of(component_title(self.component_names, row.component, "")),
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
