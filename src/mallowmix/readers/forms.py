"""The forms in which choices come: the columns of each, and how one is recognised by them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mallowmix.errors import DataError, OptionError
from mallowmix.readers import battles, best_worst, implicit, plain
from mallowmix.readers import ranking_forms as rankings
from mallowmix.readers import rating_forms as ratings
from mallowmix.readers.headers import Roles, check_columns, find_columns, numbered, pick_columns
from mallowmix.readers.inputs import Input
from mallowmix.readers.reading import How, Reading
from mallowmix.readers.user_column import no_people

Read = Callable[[Input, Mapping[str, Any], How, str], Reading]
FILES = ("preflib", "movielens")  # forms that are whole files, not tables


class Form(NamedTuple):
    """A form that a table may have: `format` is called `name`; several shapes may share one."""

    name: str
    roles: Roles
    read: Read
    uses: tuple[str, ...] = ()  # options beyond those that all forms have
    unmistakable: bool = True  # whether its columns give it away


_ORDERED = ("per_user", "unlisted", "zero")
FORMS = (
    Form("comparisons", plain.COMPARISONS, plain.read_plain),
    Form("bayesmallows", plain.BAYESMALLOWS, plain.read_plain),
    Form("battles", battles.ROLES, battles.read_battles, ("both_bad", "outcomes")),
    Form("ratings", ratings.ROLES, ratings.read_rated, ("per_user", "top_items")),
    Form("rankings", rankings.LONG, rankings.read_long, _ORDERED),
    Form("rankings", rankings.LISTS, rankings.read_lists, _ORDERED),
    Form("rankings", rankings.ORDERS, rankings.read_wide, _ORDERED),
    Form("best-worst", best_worst.ROLES, best_worst.read_best_worst),
    Form("implicit", implicit.ROLES, implicit.read_implicit, ("per_user",)),
    Form("choix", plain.CHOIX, plain.read_plain),
    Form("rankings", rankings.PLACES, rankings.read_wide, _ORDERED, unmistakable=False),
)
NAMES = tuple(dict.fromkeys([form.name for form in FORMS] + list(FILES)))
_USES = {"preflib": ("per_user", "unlisted"), "movielens": ("per_user", "top_items")}


def choose_form(source: Input, wanted: str | None, columns: Mapping[str, Any] | None) -> Form:
    """The form that was asked for, or the one that the columns give away; the plain one where none does, so that it complains."""
    forms = [form for form in FORMS if wanted in (None, form.name)]
    check_columns(columns, list(dict.fromkeys(role for form in forms for role in form.roles.all)))
    fitting = [form for form in forms if set(columns or ()) <= set(form.roles.all)]
    if not fitting:
        raise OptionError(
            f"columns has {', '.join(columns or ())}, which do not go together: no form has all of these columns."
        )
    for form in fitting:
        if (form.unmistakable or wanted) and _fits(source, form, columns):
            return form
    return fitting[0]


def _fits(source: Input, form: Form, columns: Mapping[str, Any] | None) -> bool:
    found = find_columns(source.names, form.roles, columns)
    if any(role not in found for role in form.roles.needed):
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


def read_form(source: Input, form: Form, columns: Mapping[str, Any] | None, how: How) -> Reading:
    """Pick the columns of the form, and read."""
    roles = form.roles
    found = find_columns(source.names, roles, columns)
    if "user" in roles.needed and "user" not in found and how.one_user:
        needed = tuple(role for role in roles.needed if role != "user")
        roles = roles._replace(needed=needed, optional=(*roles.optional, "user"))
    if (
        "user" not in roles.needed
        and "user" not in found
        and not how.one_user
        and set(roles.needed) <= set(found)
    ):
        raise DataError(no_people(source.title))
    return form.read(
        source, pick_columns(source.names, roles, columns, source.title), how, form.name
    )


def check_uses(name: str, how: How) -> None:
    """Refuse options that the form has no use for: they would be passed over without a word."""
    form_uses = _USES.get(name) or next(form.uses for form in FORMS if form.name == name)
    usual = How()
    for option in ("both_bad", "outcomes", "per_user", "top_items", "unlisted", "zero"):
        if option not in form_uses and getattr(how, option) != getattr(usual, option):
            users = [other for other in NAMES if option in (_USES.get(other) or _uses_of(other))]
            raise OptionError(f"{option} is for {' and '.join(users)}; this was read as {name}.")


def _uses_of(name: str) -> tuple[str, ...]:
    return next((form.uses for form in FORMS if form.name == name), ())
