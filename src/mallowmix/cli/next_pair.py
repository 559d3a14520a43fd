"""`mallowmix next-pair`: the most informative questions to ask a person."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, new_table, safe
from mallowmix.cli.option_values import Json, Model, Quiet, Seed, at_least
from mallowmix.cli.read_options import AS_GIVEN, MaybeVotes, Reader, reads_votes
from mallowmix.cli.shell import echo, echo_json, keep_quiet, screen
from mallowmix.cli.user_options import UnknownItems, User, person
from mallowmix.errors import Option, OptionError

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel


@reads_votes
def next_pair_command(
    model: Model,
    votes: MaybeVotes = None,
    user: User = None,
    n_best: Annotated[
        int,
        typer.Option(
            "-n", "--n-best", help="How many questions.", parser=at_least(1), metavar="NUMBER"
        ),
    ] = 3,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List the pairs to ask a person about next: those with the most informative answers.

    Pairs that they have answered are left out. Without VOTES and --user it is somebody new.
    """
    keep_quiet(quiet)
    if (votes is None) != (user is None):
        raise OptionError(
            "A person is named by both, the file of comparisons and ",
            Option("user"),
            ": give both, or neither for somebody new.",
            option="user",
            value=user,
            expected="given together with a file of comparisons",
        )
    from mallowmix.infer.next_pair import next_pair
    from mallowmix.model.model_file import load

    fitted = load(model)
    people = _person(fitted, votes, user, read)
    found = next_pair(fitted, people, n_best=n_best, unknown_items=unknown_items, seed=seed)
    if json:
        echo_json(
            {
                "user": None if votes is None else people.users.tolist()[0],
                "questions": [asdict(each) for each in found],
            }
        )
    elif not quiet:
        _print_result(found)


def _person(model: "FittedModel", votes: Any, user: str | None, read: Reader) -> Any:
    from mallowmix.data.comparisons import Comparisons

    if user is None:
        return Comparisons.from_codes([], [], [], None, model.items, ["somebody new"])
    return person(read(votes), user, votes)


def _print_result(found: Any) -> None:
    if not found:
        echo("Every pair has been answered: there is nothing left to ask.")
        return
    headings = ("first", "second", "first preferred", "information")
    table = new_table(*headings, numeric=("first preferred", "information"))
    for each in found:
        table.add_row(
            safe(each.first),
            safe(each.second),
            as_percent(each.probability),
            f"{each.information:.4f}",
        )
    screen().print(table)
    echo(
        "\nThe most telling question first; information in nats, of which a yes or no can "
        "carry 0.69."
    )
