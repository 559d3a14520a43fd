"""`mallowmix rank`: one person's ranking with its uncertainty, or the population's."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.engine_options import (
    Cache,
    EngineChoice,
    EngineOption,
    Memory,
    Scheduler,
)
from mallowmix.cli.model_text import as_percent, counted, new_table, safe
from mallowmix.cli.one_question import one_question
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet, Seed
from mallowmix.cli.read_options import AS_GIVEN, MaybeVotes, Reader, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import (
    Level,
    TopItems,
    UnknownItems,
    User,
    by_user,
    person,
    save_table,
    try_table,
)
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel


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
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also say what is the person's own: how often each item wins by their mixture of "
            "components alone, and which items they like far more or less than that.",
        ),
    ] = False,
    level: Level = "0.9",
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    cache: Cache = None,
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
    _check_explain(explain, user)
    from mallowmix.infer.rank_items import rank as ranked
    from mallowmix.model.model_file import load

    fitted = load(model)
    choice = EngineChoice(engine, memory, scheduler, cache, in_memory=votes is None or bool(user))
    with one_question(user is not None), _opened(choice, votes, user, read, n_jobs) as opened:
        people, run = opened
        if people is not None:
            people = people.with_items(fitted.items, unknown_items=unknown_items)
        rankings = ranked(fitted, people, n_top=n_top, level=level, seed=seed, engine=run)
        explanation = _explanation(fitted, people, level, seed) if explain else None
        if output is not None:
            save_table(_table(rankings, people), output)
        if json:
            echo_json(_values(rankings, people, level, output) | _explained(explanation))
        elif not quiet:
            _print_result(rankings, people, level, output, explanation)


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


def _check_explain(explain: bool, user: str | None) -> None:
    if explain and user is None:
        raise OptionError(
            Option("explain"),
            " is about one person: name them with ",
            Option("user"),
            ".",
            option="explain",
            value=explain,
            expected="given together with a user",
        )


def _explanation(model: "FittedModel", person: Any, level: float, seed: int) -> Any:
    from mallowmix.infer.user_explanation import explain_user

    return explain_user(model, person, level=level, seed=seed)


def _explained(explanation: Any) -> dict[str, Any]:
    """What --explain adds to the values of a ranking."""
    if explanation is None:
        return {}
    rows = explanation.to_frame("pyarrow").to_pylist()
    named = {name: [x.item for x in getattr(explanation, name)] for name in ("more", "less")}
    values = {"weights": explanation.theta.tolist(), "summary": explanation.summary()}
    return {"explanation": values | named | {"items": rows}}


@contextmanager
def _opened(
    choice: EngineChoice, votes: Any, user: str | None, read: Reader, n_jobs: int | None
) -> Iterator[tuple[Any, Any]]:
    """The comparisons of everyone or of one person, and the engine; None without votes."""
    if votes is None:
        choice.check()
        yield None, None
        return
    with choice.opened(votes, read, n_jobs) as (comparisons, run):
        yield comparisons if user is None else person(comparisons, user, votes), run


def _table(rankings: Any, people: Any) -> Any:
    table = by_user(rankings.to_frame("pyarrow"))
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


def _print_result(
    rankings: Any, people: Any, level: float, output: Path | None, explanation: Any
) -> None:
    if len(rankings) == 1:
        _print_ranking(rankings[0], people, level, explanation)
    if output is not None:
        echo(f"\nWrote {output}: {counted(len(rankings), 'ranking', 'rankings')}.")


def _print_ranking(ranking: Any, people: Any, level: float, explanation: Any) -> None:
    mixed = {} if explanation is None else {x.item: x for x in explanation.lines}
    ranged = people is not None or any(line.low < line.high for line in ranking)
    headings = ["position", "item", "win rate"]
    headings += ["range"] if ranged else []
    headings += ["by the mixture"] if mixed else []
    table = new_table(*headings, numeric=("position", "win rate", "range", "by the mixture"))
    for line in ranking:
        span = f"{line.low}" if line.low == line.high else f"{line.low} to {line.high}"
        cells = [str(line.position), safe(line.item), as_percent(line.win_rate)]
        cells += [span] if ranged else []
        cells += [as_percent(mixed[line.item].mixture_win_rate)] if mixed else []
        table.add_row(*cells)
    echo(f"{_whose(people)}:\n")
    screen().print(table)
    if people is not None:
        echo(
            f"\nRange: of positions, which holds an item's true one with {100 * level:g} %, by "
            "what is known of this person."
        )
    elif ranged:
        echo("\nRange: items that win equally often are in no order.")
    if explanation is not None:
        echo("By the mixture: the win rate by the person's weights over the components alone.")
        echo(f"\n{explanation.summary()}", style="bold")


def _whose(people: Any) -> str:
    if people is None:
        return "The population's ranking"
    name = safe(people.users.tolist()[0])
    if not len(people):
        return f"{name} has no comparisons: this is the ranking of the population"
    return (
        f"The ranking of {name}, from {counted(people.n_comparisons, 'comparison', 'comparisons')}"
    )
