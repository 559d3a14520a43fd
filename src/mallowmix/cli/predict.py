"""`mallowmix predict`: what people will choose, for any pairs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
from mallowmix.cli.option_values import Jobs, Json, Model, Quiet
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import SHOWN, UnknownItems, by_user, save_table, try_table
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def predict_command(
    model: Model,
    votes: Votes,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="A table (.csv, .tsv, .parquet) with the columns first, second (or item_a, "
            "item_b; left, right; winner, loser) "
            "and, if each row is for one person, user. Without user, every pair is predicted for "
            "all users in VOTES.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A table: user, first, second, probability, known (.csv or .parquet); the first "
            "rows are shown unless given.",
            show_default=False,
        ),
    ] = None,
    unknown_items: UnknownItems = "error",
    n_jobs: Jobs = None,
    engine: EngineOption = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    cache: Cache = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict the probability that a person prefers the first of two items to the second.

    For users who are not in VOTES it is that of the whole population, and `known` is false.
    """
    keep_quiet(quiet)
    if pairs is None:
        raise OptionError(
            "There are no pairs to predict: name a file with the columns first and second with ",
            Option("pairs"),
            ".",
            option="pairs",
            value=None,
            expected="a file of pairs",
        )
    try_table(output, model, votes, pairs)
    from mallowmix.model.model_file import load
    from mallowmix.readers.pairs import read_pairs

    with one_question():
        requested, fitted = read_pairs(pairs), load(model)
        each = requested.users is not None
        choice = EngineChoice(engine, memory, scheduler, cache, in_memory=each)
        with choice.opened(votes, read, n_jobs) as (comparisons, run):
            people = comparisons.with_items(fitted.items, unknown_items=unknown_items)
            predicted = (
                _for_each(fitted, people, requested, n_jobs)
                if each
                else _for_all(fitted, people, requested, run)
            )
    if output is not None:
        save_table(predicted.table(), output)
    if json:
        echo_json(_values(predicted, requested, output))
    elif not quiet:
        _print_result(predicted, requested, pairs, output)


class _Predicted(NamedTuple):
    """The rows of the answer."""

    n_rows: int
    n_unknown: int
    rows: Callable[[int], list[dict[str, Any]]]  # at least so many of the first, or all
    table: Callable[[], Any]  # makes an Arrow table of all


def _for_each(
    model: "FittedModel", people: "Comparisons", requested: Any, n_jobs: int | None
) -> _Predicted:
    """One row for each row of the pairs file."""
    from mallowmix.infer.predict import predict_each

    probability, known = predict_each(
        model, people, requested.users, requested.pairs, n_jobs=n_jobs
    )
    first, second = zip(*requested.pairs, strict=True)
    columns = {"user": requested.users, "first": first, "second": second}
    columns |= {"probability": probability, "known": known}

    def rows(n: int) -> list[dict[str, Any]]:
        parts = requested.users[:n], requested.pairs[:n], probability[:n], known[:n]
        return [_row(*each) for each in zip(*parts, strict=True)]

    def table() -> Any:
        import pyarrow as pa

        return pa.table(columns)

    return _Predicted(len(known), int((~known).sum()), rows, table)


def _row(user: object, pair: Any, probability: float, known: Any) -> dict[str, Any]:
    values = {"user": user, "first": pair[0], "second": pair[1], "probability": float(probability)}
    return values | {"known": bool(known)}


def _for_all(model: "FittedModel", people: "Comparisons", requested: Any, run: Any) -> _Predicted:
    """Predict every pair for all users, sorted by user."""
    import numpy as np

    from mallowmix.data.natural_order import natural_order
    from mallowmix.infer.predict import predict as predict_pairs

    found = predict_pairs(model, people, requested.pairs, engine=run)
    known, n_pairs = people.per_user() > 0, len(requested.pairs)

    def rows(n: int) -> list[dict[str, Any]]:
        shown = natural_order(people.users, min(-(-n // max(n_pairs, 1)), people.n_users))
        return [
            _row(user, pair, p, known[m])
            for m, user in zip(shown, people.users[shown].tolist(), strict=True)
            for pair, p in zip(requested.pairs, found.probability[m], strict=True)
        ]

    def table() -> Any:
        import pyarrow as pa

        of_rows = pa.array(np.repeat(known, n_pairs))
        return by_user(found.to_frame("pyarrow").append_column("known", of_rows))

    return _Predicted(n_pairs * len(known), n_pairs * int((~known).sum()), rows, table)


def _values(predicted: _Predicted, requested: Any, output: Path | None) -> dict[str, Any]:
    """A summary, and the predictions themselves where they are not written to a file."""
    values = {
        "n_predictions": predicted.n_rows,
        "n_unknown": predicted.n_unknown,
        "columns": list(requested.taken),
        "output": None if output is None else str(output),
    }
    if output is not None:
        return values
    return values | {"predictions": predicted.rows(predicted.n_rows)}


def _print_result(predicted: _Predicted, requested: Any, pairs: Path, output: Path | None) -> None:
    first, second = requested.taken
    whom = "each for the user of its row" if requested.users is not None else "each for all users"
    echo(
        f"{pairs}: {counted(len(requested.pairs), 'pair', 'pairs')} from the columns {first}, "
        f"{second}, {whom}.\n"
    )
    shown = new_table(
        "user", "first", "second", "first preferred", "known", numeric=("first preferred",)
    )
    for row in predicted.rows(SHOWN)[:SHOWN]:
        names = [safe(row[name]) for name in ("user", "first", "second")]
        shown.add_row(*names, as_percent(row["probability"]), "yes" if row["known"] else "no")
    screen().print(shown)
    more = predicted.n_rows - SHOWN
    echo(
        f"\nThese are {SHOWN} of {predicted.n_rows:,} predictions; -o writes all of them."
        if more > 0 and output is None
        else ""
    )
    if predicted.n_unknown:
        words = counted(predicted.n_unknown, "prediction is", "predictions are")
        echo(f"{words} for users without comparisons: what the population would choose.")
    if output is not None:
        echo(f"Wrote {output}: {counted(predicted.n_rows, 'prediction', 'predictions')}.")
