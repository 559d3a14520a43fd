"""The forms in which choices come: the columns of each, and how a form is recognised by them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mallowmix.errors import DataError, Option, OptionError
from mallowmix.readers import battles, best_worst, implicit, plain
from mallowmix.readers import ranking_forms as rankings
from mallowmix.readers import rating_forms as ratings
from mallowmix.readers.headers import Roles, check_columns, find_columns, numbered, pick_columns
from mallowmix.readers.inputs import Input
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import no_user_message

Read = Callable[[Input, Mapping[str, Any], ReadOptions, str], Reading]
FILES = ("preflib", "movielens")  # forms that are whole files, not tables


class Form(NamedTuple):
    """A form of a table; several forms (shapes of rankings, say) may share a `name`."""

    name: str
    roles: Roles
    read: Read
    uses: tuple[str, ...] = ()  # options beyond those that all forms have
    unmistakable: bool = True  # whether its columns give it away


_ORDERED = ("per_user", "unlisted", "zero")
FORMS = (
    Form("comparisons", plain.COMPARISONS, plain.read_plain),
    Form("bayesmallows", plain.BAYESMALLOWS, plain.read_plain),
    Form("battles", battles.ROLES, battles.read_battle_table, ("both_bad", "outcomes")),
    Form("ratings", ratings.ROLES, ratings.read_rated, ("per_user", "top_items")),
    Form("rankings", rankings.LONG, rankings.read_long, _ORDERED),
    Form("rankings", rankings.LISTS, rankings.read_lists, _ORDERED),
    Form("rankings", rankings.ORDERS, rankings.read_wide, _ORDERED),
    Form("best-worst", best_worst.ROLES, best_worst.read_best_worst_table),
    Form("implicit", implicit.ROLES, implicit.read_implicit_table, ("per_user",)),
    Form("choix", plain.CHOIX, plain.read_plain),
    Form("rankings", rankings.POSITIONS, rankings.read_wide, _ORDERED, unmistakable=False),
)
NAMES = tuple(dict.fromkeys([form.name for form in FORMS] + list(FILES)))
_USES = {"preflib": ("per_user", "unlisted"), "movielens": ("per_user", "top_items")}


def choose_form(
    source: Input, wanted: str | None, columns: Mapping[str, Any] | None, *, one_user: bool = False
) -> Form:
    """Return the form that is named, or the first one that the columns fit.

    Parameters
    ----------
    source : Input
        The table.
    wanted : str or None
        The name of a form; None recognises it.
    columns : mapping
        Role to column, where the caller names them.
    one_user : bool
        Whether a form that is named may lack a column of users.

    Returns
    -------
    Form
        Where none fits, the first: reading it then says which column is missing.
    """
    without_users = one_user and wanted is not None
    forms = [form for form in FORMS if wanted in (None, form.name)]
    check_columns(columns, list(dict.fromkeys(role for form in forms for role in form.roles.all)))
    fitting = [form for form in forms if set(columns or ()) <= set(form.roles.all)]
    if not fitting:
        raise OptionError(
            Option("columns"),
            f" has {', '.join(columns or ())}, which do not go together: "
            "no form has all of these columns.",
            option="columns",
            value=columns,
            expected="names of columns of one form",
        )
    for form in fitting:
        if (form.unmistakable or wanted) and _fits(source, form, columns, without_users):
            return form
    return fitting[0]


def _fits(
    source: Input, form: Form, columns: Mapping[str, Any] | None, without_users: bool
) -> bool:
    found = find_columns(source.names, form.roles, columns)
    needed = [role for role in form.roles.needed if not (without_users and role == "user")]
    if any(role not in found for role in needed):
        return False
    if form.roles.numbered == "rank":
        return len(numbered(source.names, "rank")) > 1 and all(
            str(name).strip().isdigit() is False for name in source.names
        )
    return (
        form.name != "best-worst"
        or "shown" in found
        or len(numbered(source.names, "item|option|shown|alternative")) > 1
    )


def read_form(
    source: Input, form: Form, columns: Mapping[str, Any] | None, options: ReadOptions
) -> Reading:
    """Pick the columns of a form and read them."""
    roles = form.roles
    found = find_columns(source.names, roles, columns)
    if "user" in roles.needed and "user" not in found and options.one_user:
        needed = tuple(role for role in roles.needed if role != "user")
        roles = roles._replace(needed=needed, optional=(*roles.optional, "user"))
    if (
        "user" not in roles.needed
        and "user" not in found
        and not options.one_user
        and set(roles.needed) <= set(found)
    ):
        raise DataError(*no_user_message(source.title))
    return form.read(
        source, pick_columns(source.names, roles, columns, source.title), options, form.name
    )


def check_uses(name: str, options: ReadOptions) -> None:
    """Refuse options that the form does not use: they would be ignored silently."""
    form_uses = _USES.get(name) or next(form.uses for form in FORMS if form.name == name)
    usual = ReadOptions()
    for option in ("both_bad", "outcomes", "per_user", "top_items", "unlisted", "zero"):
        if option not in form_uses and getattr(options, option) != getattr(usual, option):
            users = [other for other in NAMES if option in (_USES.get(other) or _uses_of(other))]
            raise OptionError(
                Option(option),
                f" is for {' and '.join(users)}; this was read as {name}.",
                option=option,
                value=getattr(options, option),
                expected=f"left out with {name}",
            )


def _uses_of(name: str) -> tuple[str, ...]:
    return next((form.uses for form in FORMS if form.name == name), ())
