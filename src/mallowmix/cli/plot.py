"""`mallowmix plot`: one figure of a model, or of a model and its people, as PNG, SVG or PDF."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mallowmix.cli.option_values import Jobs, Model, Quiet, Seed, at_least
from mallowmix.cli.outputs import PICTURES, check_ending, try_outputs, write_all
from mallowmix.cli.progress_bar import progress
from mallowmix.cli.read_options import AS_GIVEN, MaybeVotes, Reader, reads_votes
from mallowmix.cli.shell import echo, keep_quiet
from mallowmix.cli.user_options import UnknownItems
from mallowmix.errors import OptionError, did_you_choose

if TYPE_CHECKING:
    from mallowmix.model.fitted_model import FittedModel

OF_A_MODEL = ("components", "positions", "pairs", "distances")
WITH_VOTES = ("mixtures", "largest-share", "disagreement", "reliability", "intervals", "choice")
_KINDS = f"What to draw: of a model {', '.join(OF_A_MODEL)}; with votes {', '.join(WITH_VOTES)}."


@reads_votes
def plot_command(
    kind: Annotated[str, typer.Argument(help=_KINDS, metavar="FIGURE", show_default=False)],
    model: Model,
    votes: MaybeVotes = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A .png, .svg or .pdf file; the kind's name and .png unless given.",
        ),
    ] = None,
    n_top: Annotated[
        int | None,
        typer.Option(
            help="How many items or pairs to draw.",
            parser=at_least(1),
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    component: Annotated[
        int,
        typer.Option(
            help="Of which component to draw intervals.", parser=at_least(1), metavar="NUMBER"
        ),
    ] = 1,
    n_replicates: Annotated[
        int,
        typer.Option(
            help="For intervals: how many times people are weighted anew.",
            parser=at_least(10),
            metavar="NUMBER",
        ),
    ] = 40,
    unknown_items: UnknownItems = "error",
    seed: Seed = 0,
    n_jobs: Jobs = None,
    read: Reader = AS_GIVEN,
    quiet: Quiet = False,
) -> None:
    """Draw one figure: rankings, positions, polarising pairs, how people mix, calibration, …

    Votes are the comparisons that the model was learnt from.
    """
    keep_quiet(quiet)
    output = output or Path(f"{kind}.png")
    _check(kind, votes, output)
    try_outputs(output, inputs=[model, votes])
    from mallowmix.model.model_file import load

    loaded = load(model)
    with progress(hidden=quiet) as report:
        options = {"n_replicates": n_replicates, "seed": seed, "n_jobs": n_jobs, "progress": report}
        if kind in OF_A_MODEL:
            figure = _of_a_model(kind, loaded, n_top)
        else:
            known = read(votes).with_items(loaded.items, unknown_items=unknown_items)
            figure = _with_votes(kind, loaded, known, component, options)
    write_all(
        {
            output: lambda temporary: figure.savefig(
                temporary, format=output.suffix.lower()[1:], dpi=150, facecolor="white"
            )
        }
    )
    if not quiet:
        echo(f"Wrote {output}.")


def _check(kind: str, votes: Any, output: Path) -> None:
    if kind not in OF_A_MODEL + WITH_VOTES:
        raise OptionError(
            f"There is no picture {kind!r}: choose one of {', '.join(OF_A_MODEL + WITH_VOTES)}."
            f"{did_you_choose(kind, OF_A_MODEL + WITH_VOTES)}",
            option="kind",
            value=kind,
            expected=f"one of {', '.join(OF_A_MODEL + WITH_VOTES)}",
        )
    check_ending(output, PICTURES, "draw it")
    if kind in OF_A_MODEL and votes is not None:
        raise OptionError(
            f"A picture of {kind} is of the model alone: leave out {votes}. With votes there are "
            f"{', '.join(WITH_VOTES)}.",
            option="votes",
            value=votes,
            expected=f"nothing for {kind}",
        )
    if kind in WITH_VOTES and votes is None:
        raise OptionError(
            f"A picture of {kind} needs the comparisons too: mallowmix plot {kind} model.m4 "
            "votes.csv.",
            option="votes",
            value=None,
            expected="the comparisons that the model was learnt from",
        )


def _of_a_model(kind: str, model: "FittedModel", n_top: int | None) -> Any:
    from mallowmix import plots

    draw: dict[str, Callable[..., Any]] = {
        "components": plots.plot_components,
        "positions": plots.plot_positions,
        "pairs": plots.plot_pairs,
        "distances": plots.plot_distances,
    }
    return draw[kind](model, **({"n_top": n_top} if n_top and kind != "distances" else {}))


def _with_votes(
    kind: str, model: "FittedModel", votes: Any, component: int, options: dict[str, Any]
) -> Any:
    from mallowmix import plots
    from mallowmix.assess.diagnose.diagnosis import diagnose
    from mallowmix.assess.diagnose.disagreement import disagreement
    from mallowmix.assess.intervals.bootstrap_intervals import intervals
    from mallowmix.fitting.choose_k import choose_k
    from mallowmix.infer.weights import weights

    n_replicates, report, common = (
        options["n_replicates"],
        options["progress"],
        {name: options[name] for name in ("seed", "n_jobs")},
    )
    if component > model.n_components:
        raise OptionError(
            option="component",
            value=component,
            expected=f"at most {model.n_components}, the number of components of the model",
        )
    draw: dict[str, Callable[[], Any]] = {
        "mixtures": lambda: plots.plot_mixtures(
            weights(model, votes, n_jobs=options["n_jobs"]), options["seed"]
        ),
        "largest-share": lambda: plots.plot_largest_share(
            weights(model, votes, n_jobs=options["n_jobs"]), votes.user_weight
        ),
        "disagreement": lambda: plots.plot_disagreement(disagreement(model, votes)),
        "reliability": lambda: plots.plot_reliability(
            diagnose(model, votes, n_simulations=0, **common).reliability
        ),
        "intervals": lambda: plots.plot_intervals(
            intervals(model, votes, n_replicates, progress=report, **common), component
        ),
        "choice": lambda: plots.plot_choice(choose_k(votes, progress=report, **common)),
    }
    return draw[kind]()
