"""`mallowmix serve`: the page, the survey and the API on one's own machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mallowmix.cli.option_values import at_least, count_or_auto, number
from mallowmix.cli.serve_notes import note_exposure, note_proposals
from mallowmix.cli.shell import echo
from mallowmix.cli.votes_database import opening_votes
from mallowmix.errors import Option, OptionError

NETWORK = "Open to others"
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
    item_names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How items are shown, a CSV file: id, label, and perhaps description and picture "
            "(a file beside it).",
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
        int, typer.Option(metavar="NUMBER", parser=at_least(1, 65_535), help="The port.")
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
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where visitors find the page, as in https://survey.example.org, when a server "
            "with TLS stands before this one.",
            show_default=False,
            rich_help_panel=NETWORK,
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of that server: its X-Forwarded-For is believed, nobody else's. May "
            "be repeated; a network such as 10.0.0.0/8 is an address, too.",
            show_default=False,
            rich_help_panel=NETWORK,
        ),
    ] = None,
    connections: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            parser=at_least(1),
            help="The most open connections of one address.",
            rich_help_panel=NETWORK,
        ),
    ] = 100,
    people_per_address: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            parser=at_least(0),
            help="The most participants that one address may begin in a day; 0: no limit.",
            rich_help_panel=NETWORK,
        ),
    ] = 200,
    invitations: Annotated[
        bool,
        typer.Option(
            "--invitations",
            help="Let only those take part who have an invitation link from the admin page.",
            rich_help_panel=NETWORK,
        ),
    ] = False,
    refit_limit: Annotated[
        Any,
        typer.Option(
            metavar="MINUTES",
            parser=number,
            help="End a refit that takes longer; 0: never.",
        ),
    ] = 60.0,
    database_wait: Annotated[
        Any,
        typer.Option(
            metavar="SECONDS",
            parser=number,
            help="How long to wait at the start for a PostgreSQL that does not answer yet.",
        ),
    ] = 30.0,
    check: Annotated[
        bool, typer.Option("--check", help="Open everything, say what would be served, and stop.")
    ] = False,
) -> None:
    """Serve a page on which visitors explore a model, answer questions, and see their own mixture.

    With a model, the most informative questions are asked; with --items alone, the survey starts
    without a model and learns one as votes come in.
    """
    known = model is not None or items is not None or item_names is not None
    if not known and not Path(votes).exists() and "://" not in votes:
        raise OptionError(
            "There is nothing to ask about: name a model file, or a list of items with ",
            Option("items"),
            ".",
            option="items",
            value=None,
            expected="a list of items, where there is no model",
        )
    from mallowmix.web.settings import Settings, allowed_hosts

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
        public_url=public_url,
        trusted_proxies=tuple(trusted_proxy or ()),
        hosts=allowed_hosts(host, public_url),
        connections=connections,
        people_per_address=people_per_address,
        invitations=invitations,
        refit_limit=refit_limit,
        database_wait=database_wait,
    )
    note_exposure(host, settings)
    note_proposals(settings)
    _serve(_site(votes, settings, model, items, item_names, people), host, port, check=check)


def _site(
    votes: str,
    settings: Any,
    model: Path | None,
    items: Path | None,
    item_names: Path | None,
    people: Path | None,
) -> Any:
    """Read the files and open the database; items are called by their labels."""
    from mallowmix.model.model_file import load
    from mallowmix.readers import read_comparisons
    from mallowmix.web.item_names import read_items
    from mallowmix.web.item_pictures import read_shown_items, with_labels
    from mallowmix.web.site import Site

    fitted = None if model is None else load(model)
    names = None if items is None else read_items(items)
    crowd = None if people is None else read_comparisons(people)
    shown = {} if item_names is None else read_shown_items(item_names)
    if shown:
        names = with_labels(names, shown) if names else [each.label for each in shown.values()]
        if fitted is not None:
            fitted = fitted.named(
                items=dict(zip(fitted.items, with_labels(fitted.items, shown), strict=True))
            )
        crowd = None if crowd is None else crowd.relabelled(with_labels(crowd.items, shown))
    details = {each.label: each for each in shown.values()}
    with opening_votes():
        return Site(votes, settings, model=fitted, names=names, crowd=crowd, details=details)


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
    url = site.settings.public_url or f"http://{shown}:{port}"
    run(site, host, port, lambda: echo(f"Open {url} (Ctrl-C ends it)."))
    echo(f"Stopped. Every vote that was answered is in {site.store.database}.")
