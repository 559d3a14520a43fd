"""`mallowmix serve`: the page, the survey and the API on one's own machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.option_values import at_least, count_or_auto, number
from mallowmix.cli.shell import echo
from mallowmix.errors import Option, OptionError

_VOTES, _MINUTES = 200, 10.0  # after which a survey from nothing learns again


def serve_command(
    model: Annotated[
        Path | None, typer.Argument(help="A model file to begin with.", show_default=False)
    ] = None,
    votes: Annotated[
        str,
        typer.Option(
            metavar="DATABASE",
            help="Where votes are kept: a file (SQLite, made if need be), or "
            "postgresql://user@host/name.",
        ),
    ] = "votes.db",
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What to ask about: one item a line, or a CSV file with a column item.",
            show_default=False,
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Comparisons of people whom visitors may look at on the page.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 is every network.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="NUMBER", parser=at_least(1), help="The port.")
    ] = 8000,
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="What stands over the survey.")
    ] = "What do you prefer?",
    question: Annotated[
        str, typer.Option(metavar="TEXT", help="What stands over each pair.")
    ] = "Which do you prefer?",
    questions: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", parser=at_least(1), help="The most that one person is asked."
        ),
    ] = 25,
    propose: Annotated[
        bool,
        typer.Option("--propose", help="Let participants propose items; an admin lets them in."),
    ] = False,
    n_components: Annotated[
        Any,
        typer.Option(
            "-k",
            "--n-components",
            metavar="NUMBER|auto",
            parser=count_or_auto,
            help="How many components a refit learns.",
        ),
    ] = "auto",
    refit_votes: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            parser=at_least(0),
            help=f"Learn again after so many new votes; 0: never. {_VOTES} with --items, 0 with "
            "a model.",
            show_default=False,
        ),
    ] = None,
    refit_minutes: Annotated[
        Any,
        typer.Option(
            metavar="NUMBER",
            parser=number,
            help=f"Or so long after the first new one; 0: never. {_MINUTES:g} with --items, 0 with "
            "a model.",
            show_default=False,
        ),
    ] = None,
    admin_token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="MALLOWMIX_ADMIN_TOKEN",
            help="Opens the admin pages; 12 characters at least. Better given as "
            "MALLOWMIX_ADMIN_TOKEN in the environment.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        Any,
        typer.Option(
            metavar="NUMBER",
            parser=number,
            help="Requests a second for each participant; 0: no limit.",
        ),
    ] = 20.0,
    check: Annotated[
        bool, typer.Option("--check", help="Open everything, say what would be served, and stop.")
    ] = False,
) -> None:
    """Serve a page on which visitors explore a model, answer questions, and see their own mixture.

    With a model, the most informative questions are asked; with --items alone, the survey starts
    without a model and learns one as votes come in.
    """
    if model is None and items is None and not Path(votes).exists() and "://" not in votes:
        raise OptionError(
            "There is nothing to ask about: name a model file, or a list of items with ",
            Option("items"),
            ".",
            option="items",
            value=None,
            expected="a list of items, where there is no model",
        )
    from mallowmix.web.settings import LOOPBACK, Settings

    settings = Settings(
        title=title,
        question=question,
        questions=questions,
        refit_votes=(0 if model else _VOTES) if refit_votes is None else refit_votes,
        refit_minutes=(0.0 if model else _MINUTES) if refit_minutes is None else refit_minutes,
        n_components=n_components,
        propose=propose,
        admin_token=admin_token,
        rate=rate,
        hosts=LOOPBACK if host in LOOPBACK else (),
    )
    _serve(_site(votes, settings, model, items, people), host, port, check=check)


def _site(
    votes: str, settings: Any, model: Path | None, items: Path | None, people: Path | None
) -> Any:
    """Read the files and open the database."""
    from mallowmix.model.model_file import load
    from mallowmix.readers import read_comparisons
    from mallowmix.web.item_names import read_items
    from mallowmix.web.site import Site

    fitted = None if model is None else load(model)
    names = None if items is None else read_items(items)
    crowd = None if people is None else read_comparisons(people)
    return Site(votes, settings, model=fitted, names=names, crowd=crowd)


def _serve(site: Any, host: str, port: int, *, check: bool) -> None:
    from mallowmix.web.server import run

    found = (
        "no model yet" if site.fitted is None else f"{site.fitted.model.n_components} components"
    )
    echo(
        f"{len(site.items)} items, {found}, {site.counts['votes']:,} votes "
        f"in {site.store.database}."
    )
    if check:
        site.close()
        return
    shown = f"[{host}]" if ":" in host else host
    echo(f"Open http://{shown}:{port} (Ctrl-C ends it).")
    run(site, host, port)
    echo(f"Stopped. Every vote that was answered is in {site.store.database}.")
