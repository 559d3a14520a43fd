"""Which column is which: roles (user, winner, loser, …) matched to the names in a table or file.

A column is recognised by the role's own name, or by one of a few synonyms; case, spaces and
underscores do not matter. For any other name, the option `columns` says which it is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mallowmix.errors import DataError, Option, OptionError, Part, did_you_choose, did_you_mean

_SHOWN = 20  # names listed in a message

NAMES: dict[str, tuple[str, ...]] = {  # role → its synonyms, in small letters and digits alone
    "user": (
        *(
            "user",
            "userid",
            "username",
            "judge",
            "judgeid",
            "worker",
            "workerid",
            "voter",
            "voterid",
            "rater",
            "raterid",
        ),
        *(
            "annotator",
            "annotatorid",
            "assessor",
            "participant",
            "participantid",
            "respondent",
            "person",
            "personid",
        ),
    ),
    "winner": ("winner",),
    "loser": ("loser",),
    "weight": ("weight",),
    "ranking_id": ("rankingid",),
    "left": (
        *("left", "modela", "itema", "optiona", "candidatea", "answera", "responsea", "a"),
        *("model1", "item1", "option1", "candidate1", "answer1", "response1", "first"),
    ),
    "right": (
        *("right", "modelb", "itemb", "optionb", "candidateb", "answerb", "responseb", "b"),
        *("model2", "item2", "option2", "candidate2", "answer2", "response2", "second"),
    ),
    "outcome": ("outcome", "winner", "result", "verdict", "vote"),
    "left_rank": ("leftrank", "rankleft", "ranka", "rank1", "rankfirst"),
    "right_rank": ("rightrank", "rankright", "rankb", "rank2", "ranksecond"),
    "item": (
        "item",
        "itemid",
        "movie",
        "movieid",
        "film",
        "filmid",
        "product",
        "productid",
        "alternative",
    ),
    "rating": ("rating", "stars", "score"),
    "rank": ("rank", "position", "place"),  # words: ok
    "ranking": ("ranking", "order"),
    "best": ("best",),
    "worst": ("worst",),
    "shown": ("shown", "items", "set"),
    "clicked": ("clicked", "click", "chosen", "selected"),
    "list": ("list", "listid", "impression", "impressionid", "session", "sessionid"),
}
# what a role may also be called, where none of the names above is there
SECOND_NAMES = {"outcome": ("answer", "choice", "preferred", "preference")}
# these go by names that stand at the same position in their lists
TOGETHER = (("left", "right"), ("left_rank", "right_rank"))


_ROW_LABELS = ("", "unnamed: 0")  # what labels of rows are called in a file


class Roles(NamedTuple):
    """The columns of a form: needed, optional, and numbered ones (item_1, item_2, …)."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numbered: str = ""
    names: Mapping[str, tuple[str, ...]] = {}  # what replaces NAMES
    row_is_user: bool = False  # then labels of rows say who, where nothing else does

    @property
    def all(self) -> tuple[str, ...]:
        """Every role that `columns` may have as a key."""
        return self.needed + self.optional


def check_columns(columns: Mapping[str, Any] | None, known: Sequence[str]) -> None:
    """Raise an OptionError unless `columns` maps roles to different names."""
    if columns is None:
        return
    if not isinstance(columns, Mapping):
        raise OptionError(
            option="columns",
            value=columns,
            expected='a mapping from our names to theirs, as in {"winner": "better"}',
        )
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise OptionError(
            Option("columns"),
            f" has the key {unknown[0]!r}, which is none of {', '.join(known)}: "
            "our name comes first, as in ",
            Option("columns", {"winner": "better"}),
            f".{did_you_choose(unknown[0], known)}",
            option="columns",
            value=columns,
            expected=f"a mapping from {', '.join(known)}",
        )
    theirs = [name for name in columns.values() if name is not None]
    if twice := next((name for n, name in enumerate(theirs) if name in theirs[:n]), None):
        both = " and ".join(ours for ours, name in columns.items() if name == twice)
        raise OptionError(
            Option("columns"),
            f" gives {both} the same column {twice!r}; they must differ.",
            option="columns",
            value=columns,
            expected="a different column for each name",
        )


def find_columns(
    present: Sequence[Any], roles: Roles, columns: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Match roles to columns; a list of names where a role fits several columns.

    Parameters
    ----------
    present : sequence
        The names of the columns.
    roles : Roles
        The roles to find.
    columns : mapping
        Role to column, where the caller names them.

    Returns
    -------
    dict
        Role to column, without the roles that no column fits.
    """
    given = {ours: theirs for ours, theirs in (columns or {}).items() if ours in roles.all}
    plain: dict[str, list[Any]] = {}
    for name in present:
        plain.setdefault(_plain(name), []).append(name)
    found = {
        role: _known_as(role, present, plain, roles) for role in roles.all if role not in given
    }
    for pair in TOGETHER:
        found |= (
            _same_index(pair, plain)
            if set(pair) <= set(found) and None in map(found.get, pair)
            else {}
        )
    taken = set(map(str, given.values()))
    free = {
        role: name
        for role, name in found.items()
        if role not in roles.optional or str(name) not in taken
    }
    picked = {role: name for role, name in (free | given).items() if name is not None}
    if roles.row_is_user and "user" not in picked and has_row_labels(present):
        picked["user"] = present[0]
    return picked


def has_row_labels(names: Sequence[Any]) -> bool:
    """Return whether the first column has no name, as labels of a data frame's rows in a file."""
    return bool(names) and str(names[0]).strip().lower() in _ROW_LABELS


def item_columns(names: Sequence[Any], picked: Mapping[str, Any]) -> list[Any]:
    """The columns of a wide table that hold items: all without a role, but labels of rows."""
    first = 1 if has_row_labels(names) else 0
    return [name for name in names[first:] if name not in picked.values()]


def _known_as(
    role: str, present: Sequence[Any], plain: Mapping[str, list[Any]], roles: Roles
) -> Any:
    """Return the column of this role: by its own name, or by its only synonym present."""
    if role in present:
        return role
    known = roles.names[role] if role in roles.names else NAMES.get(role, ())
    names = [each for name in known for each in plain.get(name, [])] or [
        each for name in SECOND_NAMES.get(role, ()) for each in plain.get(name, [])
    ]
    if len(names) > 1 and any(role in pair for pair in TOGETHER):
        return None
    return (names[0] if len(names) == 1 else names) if names else None


def _same_index(pair: tuple[str, ...], plain: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Match roles that go together by synonyms at the same index, such as model_a and model_b."""
    for names in zip(*(NAMES[role] for role in pair), strict=True):
        if all(name in plain for name in names):
            return {role: plain[name][0] for role, name in zip(pair, names, strict=True)}
    return {}


def pick_columns(
    present: Sequence[Any], roles: Roles, columns: Mapping[str, Any] | None, source: str
) -> dict[str, Any]:
    """Match roles to columns, as `find_columns` does, but raise a DataError if it is not unique.

    Parameters
    ----------
    present, roles, columns
        As in `find_columns`.
    source : str
        The title of the table, which begins the message.

    Returns
    -------
    dict
        Role to column, for all needed roles and the optional ones that are present.
    """
    found = find_columns(present, roles, columns)
    for role in roles.all:
        theirs = found.get(role, role)
        if isinstance(theirs, list):
            raise DataError(*_several(role, theirs, source))
        if role in found or role in roles.needed:
            _check_there(role, theirs, present, source)
    return {role: found[role] for role in roles.all if role in found}


def _check_there(ours: str, theirs: Any, present: Sequence[Any], source: str) -> None:
    if present.count(theirs) == 0:
        raise DataError(*lacking(ours, theirs, present, source))
    if present.count(theirs) > 1:
        raise DataError(
            f"{source} has {present.count(theirs)} columns named {theirs!r}: give each its "
            "own name."
        )


def numbered(present: Sequence[Any], stem: str) -> list[Any]:
    """Return the columns stem_1, stem_2, … (or stem1, stem 1, or 1), ordered by number."""
    found = [
        (int(match[1]), name)
        for name in present
        if (match := re.fullmatch(rf"(?:{stem})?(\d{{1,6}})", _plain(name)))
    ]
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]


def is_named(column: Any, names: Sequence[str] | None) -> bool:
    """Return whether a column has one of these names; None allows any name."""
    return names is None or (isinstance(column, str) and _plain(column) in names)


def is_role_name(name: Any) -> bool:
    """Return whether a column of this name could have a role."""
    known = (*NAMES.values(), *SECOND_NAMES.values())
    return any(_plain(name) in names for names in known)


def _plain(name: Any) -> str:
    return re.sub(r"[\W_]", "", str(name).lower())


def _several(ours: str, theirs: list[Any], source: str) -> tuple[Part, ...]:
    return (
        f"{source} has the columns {' and '.join(map(repr, theirs))}: say which one holds "
        f"the {ours} "
        "with ",
        Option("columns", {ours: "NAME"}),
        ".",
    )


def lacking(ours: str, theirs: Any, present: Sequence[Any], source: str) -> tuple[Part, ...]:
    """Say that a column is not there, as parts of a message."""
    names = ", ".join(map(repr, present[:_SHOWN])) + (", …" if len(present) > _SHOWN else "")
    return (
        f"{source} has no column {theirs!r}, only {names or 'none at all'}: say which one "
        "holds the "
        f"{ours} with ",
        Option("columns", {ours: "NAME"}),
        f".{did_you_mean(theirs, present)}",
    )
