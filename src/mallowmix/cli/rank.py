"""`mallowmix rank`: one person's ranking with its uncertainty, or the population's."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, counted, new_table, safe
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed
from mallowmix.cli.read_options import AS_GIVEN, MaybeVotes, Reader, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import (
    Level,
    TopItems,
    UnknownItems,
    User,
    person,
    save_table,
    try_table,
)
from mallowmix.errors import Option, OptionError


@reads_votes
def rank_command(
    model: Model,
    votes: MaybeVotes = None,
    user: User = None,
    n_top: TopItems = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table: user, position, item, win_rate, low, high (.csv or .parquet). Without "
            "--user, the rankings of all users.",
            show_default=False,
        ),
    ] = None,
    level: Level = "0.9",
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Rank all items for one person, by how likely each wins against another.

    Each item has a range of likely positions. Without VOTES it is the ranking of the population.
    """
    keep_quiet(quiet)
    try_table(output, model, votes)
    _check_whose(votes, user, output)
    from mallowmix.infer.rank_items import rank as ranked
    from mallowmix.model.model_file import load

    fitted, people = load(model), None
    if votes is not None:
        people = _people(votes, user, read)
        people = people.with_items(fitted.items, unknown_items=unknown_items)
    rankings = ranked(fitted, people, n_top=n_top, level=level, seed=seed, n_jobs=n_jobs)
    if output is not None:
        save_table(_table(rankings, people), output)
    if json:
        echo_json(_values(rankings, people, level, output))
    elif not quiet:
        _print_result(rankings, people, level, output)


def _check_whose(votes: Any, user: str | None, output: Path | None) -> None:
    if votes is None and user is not None:
        raise OptionError(
            Option("user", user),
            " needs a file of comparisons after the model: without it there is no user.",
            option="user",
            value=user,
            expected="given together with a file of comparisons",
        )
    if votes is not None and user is None and output is None:
        raise OptionError(
            "Whose ranking is wanted? Name somebody with ",
            Option("user"),
            ", or write those of all users with ",
            Option("output"),
            ".",
            option="user",
            value=None,
            expected="the name of a user",
        )


def _people(votes: Any, user: str | None, read: Reader) -> Any:
    comparisons = read(votes)
    return comparisons if user is None else person(comparisons, user, votes)


def _table(rankings: Any, people: Any) -> Any:
    table = rankings.to_frame("pyarrow")
    return table if people is not None else table.drop_columns(["user"])


def _values(rankings: Any, people: Any, level: float, output: Path | None) -> dict[str, Any]:
    values = {"level": level, "output": None if output is None else str(output)}
    if len(rankings) != 1:
        return values | {"n_users": len(rankings)}
    known = (
        {"user": None}
        if people is None
        else {"user": people.users.tolist()[0], "n_comparisons": people.n_comparisons}
    )
    return known | values | {"ranking": [asdict(line) for line in rankings[0]]}


def _print_result(rankings: Any, people: Any, level: float, output: Path | None) -> None:
    if len(rankings) == 1:
        _print_ranking(rankings[0], people, level)
    if output is not None:
        echo(f"\nWrote {output}: {counted(len(rankings), 'ranking', 'rankings')}.")


def _print_ranking(ranking: Any, people: Any, level: float) -> None:
    headings = ("position", "item", "win rate", *(() if people is None else ("range",)))
    table = new_table(*headings, numeric=("position", "win rate", "range"))
    for line in ranking:
        span = f"{line.low}" if line.low == line.high else f"{line.low} to {line.high}"
        table.add_row(
            str(line.position),
            safe(line.item),
            as_percent(line.win_rate),
            *([span] if people is not None else []),
        )
    echo(f"{_whose(people)}:\n")
    screen().print(table)
    if people is not None:
        echo(
            f"\nRange: of positions, which holds an item's true one with {100 * level:g} %, by "
            "what is known of this person."
        )


def _whose(people: Any) -> str:
    if people is None:
        return "The population's ranking"
    name = safe(people.users.tolist()[0])
    if not len(people):
        return f"{name} has no comparisons: this is the ranking of the population"
    return (
        f"The ranking of {name}, from {counted(people.n_comparisons, 'comparison', 'comparisons')}"
    )
