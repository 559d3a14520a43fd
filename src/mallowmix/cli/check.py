"""`mallowmix check`: the data report. Sizes, what limits the answer, what to do about it."""

from pathlib import Path
from typing import Any

from mallowmix.cli.options import Json
from mallowmix.cli.reading import AS_GIVEN, Reader, Votes, reads_votes
from mallowmix.cli.shell import say, say_json, screen
from mallowmix.cli.words import new_table, percent


@reads_votes
def check(votes: Votes, read: Reader = AS_GIVEN, json: Json = False) -> None:
    """Look at comparisons before a fit: how much there is, what limits the answer, what to do."""
    from mallowmix.checks import data_report

    report = data_report(read(votes))
    if json:
        say_json(report.to_dict())
        return
    _tell_sizes(report, votes)
    _tell_concerns(report)


def _tell_sizes(report: Any, votes: Path) -> None:
    table = new_table("what", str(votes), numeric=(str(votes),))
    for what, value in _sizes(report):
        table.add_row(what, value)
    screen().print(table)


def _sizes(report: Any) -> list[tuple[str, str]]:
    least, median, most = (f"{report.per_user[name]:,.12g}" for name in ("min", "median", "max"))
    seen = report.pairs_seen / max(1, report.pairs_possible)
    return [
        ("people", f"{report.n_users:,}"),
        ("items", f"{report.n_items:,}"),
        ("comparisons", f"{report.n_comparisons:,.12g}"),
        ("comparisons of one person: least, median, most", f"{least}, {median}, {most}"),
        ("pairs of items compared", f"{report.pairs_seen:,} of {report.pairs_possible:,} ({percent(seen)})"),
        ("repeated by the same person with the same outcome", f"{report.n_repeated:,.12g}"),
        ("pairs that one person decided both ways", f"{report.n_contradictions:,}"),
        ("pieces that the items fall into", f"{len(report.pieces):,}"),
    ]


def _tell_concerns(report: Any) -> None:
    if not report.warnings:
        say("\nNothing here limits a fit.", style="green")
        return
    say("\nWhat limits the answer, and what to do:", style="bold")
    for number, (warning, advice) in enumerate(zip(report.warnings, report.advice, strict=True), start=1):
        say(f"{number}. {warning}\n   → {advice}")
