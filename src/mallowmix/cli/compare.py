"""`mallowmix compare`: mallowmix and other systems on the same held-out comparisons."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.compared_output import (
    ComponentCounts,
    Folder,
    Names,
    compared_paths,
    print_compared,
    systems_option,
    write_compared,
)
from mallowmix.cli.option_values import Json, Quiet, Seed, at_least, number
from mallowmix.cli.outputs import try_outputs
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo_json, files_written, keep_quiet
from mallowmix.errors import DataWarning


@reads_votes
def compare_command(
    votes: Votes,
    n_components: ComponentCounts = None,
    systems: Annotated[Names | None, systems_option("all that apply")] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="people|items|comparisons",
            help="What is held out: new people (and half of their items), half of all users' "
            "items, or single comparisons.",
        ),
    ] = "people",
    given: Annotated[
        Any,
        typer.Option(
            parser=number,
            metavar="NUMBER",
            help="The part of a person's items (or comparisons) that is given; the rest is "
            "predicted.",
        ),
    ] = 0.5,
    n_users: Annotated[
        int | None,
        typer.Option(
            parser=at_least(3),
            metavar="NUMBER",
            help="So many people, at random; all unless given.",
            show_default=False,
        ),
    ] = None,
    max_per_user: Annotated[
        int | None,
        typer.Option(
            parser=at_least(1),
            metavar="NUMBER",
            help="At most so many comparisons of a person, at random, in each part: to learn from, "
            "given, held out. All unless "
            "given, but 150 where comparisons are made of ratings, and of n ratings never more "
            "than 6 n.",
            show_default=False,
        ),
    ] = None,
    n_splits: Annotated[
        int,
        typer.Option(
            parser=at_least(1), metavar="NUMBER", help="Split at random so many times, and pool."
        ),
    ] = 3,
    output: Folder = None,
    seed: Seed = 0,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure mallowmix and other systems on the same held-out comparisons.

    Each learns from the same people and predicts the same choices of the others; its settings are
    chosen on the people it learns from. A table with the
    columns user, item, rating is read as ratings: comparisons are made of them, and systems for
    ratings take part; with rankings, systems for rankings do. A system that fails becomes a row
    that says why. With --output, what each system predicts is kept in its folder runs: run again,
    a comparison that was interrupted goes on where it was.
    """
    keep_quiet(quiet)
    outputs = compared_paths(output)
    try_outputs(*outputs.values(), inputs=[votes])
    data = _read(votes, read)
    from mallowmix.assess.compare import compare

    runs = None if output is None else output / "runs"
    with progress(hidden=quiet) as report, _said_when_interrupted(runs):
        found = compare(
            data,
            n_components,
            systems=systems,
            split=split,  # type: ignore[arg-type]
            given=given,
            n_users=n_users,
            max_per_user=max_per_user,
            n_splits=n_splits,
            seed=seed,
            keep_in=runs,
            progress=report,
        )
    if outputs:
        write_compared(found, outputs)
    if json:
        echo_json(found.to_dict())
    elif not quiet:
        print_compared(found, outputs)


@contextmanager
def _said_when_interrupted(runs: Path | None) -> Iterator[None]:
    """Ctrl-C says that runs of systems were kept, where any were."""
    try:
        yield
    finally:
        if runs is not None and any(runs.glob("*.npz")):
            files_written.append(runs)


def _read(votes: Any, read: Reader) -> Any:
    """Ratings as ratings, rankings as rankings, whatever else as comparisons."""
    found = read.reading(votes)
    if found.ratings is not None and found.ties == "half":
        note = DataWarning(
            "Pairs are made of ratings anew, after the split: equal ratings are left out all "
            "the same."
        )
        warnings.warn(note, stacklevel=2)
    return next(
        form for form in (found.ratings, found.rankings, found.comparisons) if form is not None
    )
