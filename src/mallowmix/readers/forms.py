"""The forms in which choices come: the columns of each, and how a form is recognised by them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mallowmix.errors import DataError, Option, OptionError
from mallowmix.readers import battles, best_worst, implicit, plain, ranked_pairs, wide_ratings
from mallowmix.readers import ranking_forms as rankings
from mallowmix.readers import rating_forms as ratings
from mallowmix.readers import wide_rankings as wide
from mallowmix.readers.exports import (
    all_our_ideas,
    argilla,
    google_forms,
    label_studio,
    lmarena,
    polis,
    preference_pairs,
    qualtrics,
    sawtooth,
)
from mallowmix.readers.headers import (
    Roles,
    check_columns,
    find_columns,
    is_named,
    is_role_name,
    lacking,
    numbered,
    pick_columns,
)
from mallowmix.readers.inputs import Input
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import no_user_message

Read = Callable[[Input, Mapping[str, Any], ReadOptions, str], Reading]
Fits = Callable[[Input, Mapping[str, Any]], bool]
FILES = ("preflib", "movielens")  # forms that are whole files, not tables


_WHO = Roles((), ("user",), row_is_user=True)


class Form(NamedTuple):
    """A form of a table; several forms (shapes of rankings, say) may share a `name`."""

    name: str
    roles: Roles
    read: Read
    uses: tuple[str, ...] = ()  # options beyond those that all forms have
    fits: Fits | None = None  # what must hold beside the columns that are needed
    when_named: bool = False  # whether it must be named: its columns do not give it away
    row_is_user: bool = False  # whether every row is a user, where no column names them


def _has_shown(source: Input, found: Mapping[str, Any]) -> bool:
    """Return whether a best-worst table says what was shown."""
    return "shown" in found or len(numbered(source.names, "item|option|shown|alternative")) > 1


def _is_json(source: Input, found: Mapping[str, Any]) -> bool:
    return source.objects is not None


_ORDERED = ("per_user", "unlisted", "zero")
_BATTLES = ("both_bad", "outcomes")
_MARKS = ("per_user",)
_STARS = ("per_user", "top_items")
EXPORTS = (
    Form("polis", polis.VOTES, polis.read_polis_votes, _MARKS),
    Form("polis", polis.PARTICIPANTS, polis.read_polis_participants, _MARKS),
    Form("all-our-ideas", all_our_ideas.VOTES, all_our_ideas.read_all_our_ideas),
    Form("lmarena", lmarena.SESSIONS, battles.read_battle_table, _BATTLES),
    Form("lmarena", lmarena.WINNER_COLUMNS, lmarena.read_lmarena_columns, _BATTLES),
    Form("lmarena", lmarena.WINNER_WORD, battles.read_battle_table, _BATTLES, when_named=True),
    Form(
        "preference-pairs",
        preference_pairs.MODELS,
        preference_pairs.read_preference_pairs,
    ),
    Form(
        "preference-pairs",
        preference_pairs.ANSWERS,
        preference_pairs.read_preference_pairs,
    ),
    Form(
        "label-studio", label_studio.TASKS, label_studio.read_label_studio, _BATTLES, fits=_is_json
    ),
    Form("argilla", argilla.RECORDS, argilla.read_argilla, _ORDERED, fits=_is_json),
    Form(
        "qualtrics",
        qualtrics.RESPONSES,
        qualtrics.read_qualtrics,
        _ORDERED,
        fits=qualtrics.is_qualtrics,
    ),
    Form(
        "google-forms",
        google_forms.ANSWERS,
        google_forms.read_google_form,
        _ORDERED,
        fits=google_forms.is_google_form,
        row_is_user=True,
    ),
    Form(
        "sawtooth",
        sawtooth.RESPONDENTS,
        sawtooth.read_sawtooth,
        ("design",),
        fits=sawtooth.is_maxdiff,
    ),
)
FORMS = (
    *EXPORTS,
    Form("comparisons", plain.COMPARISONS, plain.read_plain),
    Form("bayesmallows", plain.BAYESMALLOWS, plain.read_plain),
    Form("battles", battles.ROLES, battles.read_battle_table, _BATTLES),
    Form("battles", ranked_pairs.RANKED, ranked_pairs.read_ranked_pairs, _BATTLES),
    Form("ratings", ratings.ROLES, ratings.read_rated, _STARS),
    Form(
        "ratings",
        wide_ratings.ROLES,
        wide_ratings.read_wide_ratings,
        _STARS,
        fits=wide_ratings.is_rating_matrix,
        when_named=True,
        row_is_user=True,
    ),
    Form("rankings", rankings.LONG, rankings.read_long, _ORDERED),
    Form("rankings", rankings.LISTS, rankings.read_lists, _ORDERED),
    Form(
        "rankings",
        wide.ORDERS,
        wide.read_wide,
        _ORDERED,
        fits=wide.is_rank_order,
        row_is_user=True,
    ),
    Form("best-worst", best_worst.ROLES, best_worst.read_best_worst_table, fits=_has_shown),
    Form("implicit", implicit.ROLES, implicit.read_implicit_table, _MARKS),
    Form("choix", plain.CHOIX, plain.read_plain),
    Form(
        "rankings",
        wide.POSITIONS,
        wide.read_wide,
        _ORDERED,
        fits=wide.is_rank_matrix,
        row_is_user=True,
    ),
    Form("rankings", wide.POSITIONS, wide.read_wide, _ORDERED, when_named=True, row_is_user=True),
)
_TABLES = [form.name for form in (*FORMS[len(EXPORTS) :], *EXPORTS)]
NAMES = tuple(dict.fromkeys(_TABLES + list(FILES)))
_USES = {"preflib": ("per_user", "unlisted"), "movielens": _STARS}


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
        if (wanted or _gives_away(source, form, columns)) and _fits(
            source, form, columns, without_users
        ):
            return form
    if wanted is None and set(columns or ()) <= {"user"}:
        wide_ratings.refuse_matrix(source, columns or find_columns(source.names, _WHO, None))
    if not columns:
        _check_header(source)
    usual = [form for form in fitting if wanted or form not in EXPORTS]
    return (usual or fitting)[0]


def _gives_away(source: Input, form: Form, columns: Mapping[str, Any] | None) -> bool:
    """Return whether columns alone may tell a form: an export is known by names of its own."""
    if form not in EXPORTS:
        return not form.when_named
    found = find_columns(source.names, form.roles, columns)
    own = [role for role in form.roles.needed if role not in (columns or ())]
    known = all(is_named(found.get(role), form.roles.names.get(role)) for role in own)
    return bool(own) and known and not form.when_named


def _fits(
    source: Input, form: Form, columns: Mapping[str, Any] | None, without_users: bool
) -> bool:
    found = find_columns(source.names, form.roles, columns)
    needed = [role for role in form.roles.needed if not (without_users and role == "user")]
    there = all(role in found for role in needed)
    return there and (form.fits is None or form.fits(source, found))


def _check_header(source: Input) -> None:
    """Refuse a file whose first line names nothing that is known: it may have no header."""
    if source.headed and not any(is_role_name(name) for name in source.names):
        raise DataError(
            *lacking("user", "user", source.names, source.title),
            " If these are data and no names, pass ",
            Option("header", False),
            "; if names stand in a later row, take out the rows above it.",
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
        "user" in roles.optional
        and "user" not in found
        and not options.one_user
        and not form.row_is_user
        and set(roles.needed) <= set(found)
    ):
        others = (name for name in source.names if name not in found.values())
        raise DataError(*no_user_message(source.title, others))
    return form.read(
        source, pick_columns(source.names, roles, columns, source.title), options, form.name
    )


def check_uses(name: str, options: ReadOptions) -> None:
    """Refuse options that the form does not use: they would be ignored silently."""
    form_uses = _USES.get(name) or next(form.uses for form in FORMS if form.name == name)
    usual = ReadOptions()
    for option in ("both_bad", "outcomes", "per_user", "top_items", "unlisted", "zero", "design"):
        given, default = getattr(options, option), getattr(usual, option)
        as_usual = given is default or (isinstance(given, str) and given == default)
        if option not in form_uses and not as_usual:
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
