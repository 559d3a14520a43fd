"""What commands about people share: options, tables, and the lookup of one person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mallowmix.cli.option_values import at_least, number
from mallowmix.cli.outputs import check_table_name, table_writer, try_outputs, write_all
from mallowmix.errors import DataError

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons

SHOWN = 10  # rows of a table that is not written
_LOOKED_AT = 5000  # names compared with one that is not there

UnknownItems: TypeAlias = Annotated[
    Any,
    typer.Option(
        parser=str,
        metavar="error|drop",
        help="What to do with votes about items that the model does not know.",
    ),
]
Level: TypeAlias = Annotated[
    Any,
    typer.Option(
        parser=number, metavar="NUMBER", help="How often an interval should hold the truth."
    ),
]
TopItems: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many items, best first; all unless given.",
        parser=at_least(1),
        metavar="NUMBER",
        show_default=False,
    ),
]
User: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose: a user of VOTES.", show_default=False)
]


def try_table(output: Path | None, *inputs: Any) -> None:
    """Fail before the work if the table cannot be written under this name."""
    if output is not None:
        check_table_name(output)
        try_outputs(output, inputs=[path for path in inputs if path is not None])


def save_table(table: Any, output: Path) -> None:
    """Write an Arrow table in the format of its name."""
    write_all({output: table_writer(table, output)})


def by_user(table: Any) -> Any:
    """Return a table with its users in natural order: p1, p2, p10."""
    import numpy as np

    from mallowmix.data.natural_order import natural_order

    users = table.column("user").to_pylist()
    different = list(dict.fromkeys(users))
    number = {different[n]: at for at, n in enumerate(natural_order(different))}
    return table.take(np.argsort([number[user] for user in users], kind="stable"))


def person(comparisons: "Comparisons", user: str, source: Any) -> Any:
    """Return the comparisons of one user; the error for an unknown one names the nearest."""
    from mallowmix.data.labels import text_of
    from mallowmix.data.text import joined

    names = text_of(comparisons.users)
    if user in names:
        return comparisons.take_users([names.index(user)])
    near = _near(user, names)
    hint = (
        f"did you mean {joined([*map(repr, near)], 'or')}?"
        if near
        else f"there are {len(names):,} others, such as {names[0]!r}."
    )
    raise DataError(f"{source} has no user {user!r}: {hint}")


def _near(user: str, names: list[str]) -> list[str]:
    """Return up to three similar names; of very many, those with the same first letter go first."""
    from mallowmix.errors import nearest

    alike = (
        sorted(names, key=lambda name: name[:1] != user[:1]) if len(names) > _LOOKED_AT else names
    )
    return nearest(user, alike[:_LOOKED_AT], 3, 0.5)
