"""`mallowmix check`: the data report. Sizes, what limits the answer, what to do about it."""

from typing import Annotated, Any

import typer

from mallowmix.cli.model_text import as_percent, counted, new_table
from mallowmix.cli.option_values import Json, at_least
from mallowmix.cli.read_options import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import echo, echo_json, screen


@reads_votes
def check_command(
    votes: Votes,
    n_components: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--n-components",
            parser=at_least(1),
            metavar="NUMBER",
            help="Also say whether this data can support this number of shared rankings.",
            show_default=False,
        ),
    ] = None,
    read: Reader = AS_GIVEN,
    json: Json = False,
) -> None:
    """Look at comparisons before a fit: how much there is, what limits the answer, what to do."""
    from mallowmix.checks.data_report import check

    report = check(read.reading(votes), n_components)
    if json:
        echo_json(report.to_dict())
        return
    _print_sizes(report, str(votes))
    _print_concerns(report)
    _print_support(report.support)


def _print_sizes(report: Any, votes: str) -> None:
    table = new_table("what", votes, numeric=(votes,))
    for what, value in [*_sizes(report), *_read_as(report)]:
        table.add_row(what, value)
    screen().print(table)


def _sizes(report: Any) -> list[tuple[str, str]]:
    seen = report.pairs_seen / max(1, report.pairs_possible)
    return [
        ("people", f"{report.n_users:,}"),
        ("items", f"{report.n_items:,}"),
        ("comparisons", f"{report.n_comparisons:,.12g}"),
        ("comparisons of one person: least, median, most", _three(report.per_user)),
        (
            "comparisons of a person: 10, 25, 50, 75, 90 % have at most",
            ", ".join(f"{n:,.12g}" for n in report.activity.values()),
        ),
        ("share of all comparisons made by the busiest tenth", as_percent(report.busy_share)),
        (
            "pairs of items compared",
            f"{report.pairs_seen:,} of {report.pairs_possible:,} ({as_percent(seen)})",
        ),
        ("comparisons of such a pair: least, median, most", _three(report.per_pair)),
        ("repeated by the same person with the same outcome", f"{report.n_repeated:,.12g}"),
        ("pairs that one person decided both ways", f"{report.n_contradictions:,}"),
        ("pieces that the items fall into", f"{len(report.pieces):,}"),
    ]


def _three(spread: dict[str, float]) -> str:
    return ", ".join(f"{spread[name]:,.12g}" for name in ("min", "median", "max"))


def _read_as(report: Any) -> list[tuple[str, str]]:
    """List how the votes were read."""
    lines = [("read as", report.form)]
    done = {"drop": "left out", "half": "half a win for both sides", "error": "refused"}[
        report.ties
    ]
    lines += [("ties", f"{report.n_ties:,.12g} ({done})")] if report.n_ties else []
    lines += [("both bad", f"{report.n_both_bad:,.12g}")] if report.n_both_bad else []
    if report.position is not None:
        found = report.position
        lines.append(
            (
                "left of two equals wins",
                f"{as_percent(found.left_wins)} [{as_percent(found.low)}, "
                f"{as_percent(found.high)}]",
            )
        )
    return lines


def _print_concerns(report: Any) -> None:
    if report.shortage:
        echo("\nThis is too little data for any fit:", style="bold")
        for sentence in report.shortage:
            echo(f"- {sentence}")
    elif not report.warnings:
        echo("\nNothing here limits a fit.", style="green")
    if not report.warnings:
        return
    echo("\nWhat limits the answer, and what to do:", style="bold")
    for number, (warning, advice) in enumerate(
        zip(report.warnings, report.advice, strict=True), start=1
    ):
        echo(f"{number}. {warning}\n   → {advice}")


def _print_support(support: Any) -> None:
    if support is None:
        return
    rankings = counted(support.n_components, "component", "components")
    words = {"yes": "yes", "thin": "only just", "no": "no"}[support.verdict]
    echo(f"\nCan this data support {rankings}? By rules of thumb, {words}.", style="bold")
    for sentence in support.sentences:
        echo(f"- {sentence}")
