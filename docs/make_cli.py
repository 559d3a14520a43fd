"""Write docs/cli.md from the app itself: `python docs/make_cli.py`.

A test compares the page with what this would write.
"""

from pathlib import Path
from textwrap import fill
from typing import Any

import typer.main

from mallowmix.cli import app
from mallowmix.cli.read_options import OPTIONS as _READING
from mallowmix.cli.shell import EXIT_CODES

_WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}
PAGE = Path(__file__).with_name("cli.md")

_START = """# The command line

<!-- Written by docs/make_cli.py from the app itself: change the help texts there, run it again. -->

Every command answers `--help`. Results go to stdout; notes, errors, and (on a terminal) progress
with the time left go to stderr. An error is one sentence. Files are written whole or not at all: an
existing one is replaced when the new one is complete, and Ctrl-C leaves what was there.

```console
$ mallowmix simulate votes.csv --n-items 12 -k 2 --n-users 400 --per-user 40 --phi 0.1 --seed 1 \\
    --truth truth.m4
$ mallowmix check votes.csv
$ mallowmix fit votes.csv -k 2 -o model.m4 --method projections --zeta auto --min-count 0.2
$ mallowmix show model.m4 --csv > rankings.csv
$ mallowmix evaluate model.m4 --truth truth.m4 --json
$ mallowmix heldout model.m4 votes.csv --method completion
$ mallowmix weights model.m4 votes.csv -o weights.parquet
$ mallowmix rank model.m4 votes.csv --user u007 --n-top 5
$ mallowmix next-pair model.m4 votes.csv --user u007
$ mallowmix update model.m4 votes.csv -o newer.m4
```

A file of comparisons has the columns `user`, `winner`, `loser` and, if you like, `weight` (how many
times); `--columns` takes other names, and other forms are recognised or named with `--format`
([how to read the votes](#how-to-read-the-votes)). Components and positions are numbered from 1, and
1 is best.
"""

_READS = """Every command that reads votes has these options. What votes may be, and what happens to
ties, is described form by form in [data](data/index.md)."""

_JSON = {
    "`show`, `fit`, `update`": (
        "`n_components`, `n_items`, `report` (how the model came about) and `components`, largest "
        "share first, each with `component`, `share`, `phi`, `alpha`, `items` (best first) and "
        "`novel_pair` (`winner`, `loser`, `lambda`; null where no pair sets it apart); `fit` and "
        "`update` add `output`"
    ),
    "`evaluate`": (
        "`kendall` (fraction of discordant pairs, the mean over matched components), "
        "`kendall_per_component`, `phi_error`, `alpha_error`, `share_error` (means of absolute "
        "differences), `matched` (numbers of a found and a true component, in the order of the "
        "truth), `unmatched_found`, `unmatched_truth`"
    ),
    "`heldout`": (
        "`log_likelihood_per_comparison`, `standard_error` (over people; null for one), "
        "`n_comparisons`, `n_users`, `method` and `details` (how the number was found: particles, "
        "draws, Monte-Carlo error)"
    ),
    "`weights`": (
        "`n_users`, `n_prior` (users without comparisons), `mean` (of each component over the "
        "people), `output`"
    ),
    "`predict`": (
        "`n_predictions`, `n_unknown` (for users without comparisons), `columns` (the two that "
        "were taken) and `output`; where that is null, `predictions`, each with `user`, `first`, "
        "`second`, `probability`, `known`"
    ),
    "`rank`": (
        "`user` (null: the population), `n_comparisons`, `level`, `output` and `ranking`, each "
        "line with `item`, `position`, `win_rate` (the probability of winning against another "
        "item), `low`, `high`; for many people `n_users` in place of a ranking; with `--explain` "
        "also `explanation`: `weights`, `summary`, `more`, `less` and `items`, each with "
        "`win_rate`, `mixture_win_rate`, `difference`, `low`, `high`"
    ),
    "`leaderboard`": (
        "`level`, `ties` (`share`, `n_comparisons`, `treatment`; null without comparisons), "
        "`position` (null where sides are not known; the fields of "
        "`mallowmix.checks.position_bias.PositionBias`), `corrected` and `leaderboard`, each line "
        "with the columns of its table"
    ),
    "`next-pair`": (
        "`user` and `questions`, each with `first`, `second`, `information` (in nats) and "
        "`probability` (that the first is preferred)"
    ),
    "`choose-k`": (
        "`k` (null: cannot tell), `reason`, `certain` and `table`, a row for each number tried: "
        "the fields of `mallowmix.fitting.choose_k.KRow`"
    ),
    "`compare`, `compare-on-split`": (
        "`split`, `n_components`, `n_splits`, `n_users`, `n_comparisons`, `notes` and `table`, "
        "best system first: the fields of `mallowmix.assess.compare.SystemScore` (null where "
        "there is nothing to say; `failed` says why there is no result)"
    ),
    "`intervals`": (
        "`level`, `n_replicates`, `notes` (a sentence where an estimate lies outside its "
        "interval), `unstable` (the components, from 1, whose intervals are over other "
        "models) and `intervals`, each with `quantity` (share, phi or position), `component`, "
        "`item` (null but for positions), `estimate`, `low`, `high`, and the `name` of a named "
        "component"
    ),
    "`sample-posterior`": (
        "the fields of `mallowmix.infer.posterior.convergence.ConvergenceReport`, `chain_weights` "
        "and `output`"
    ),
    "`diagnose`": "the fields of `mallowmix.assess.diagnose.diagnosis_results.Diagnosis`",
    "`compare-groups`": (
        "`level`, `shares` (`attribute`, `group`, `n_people`, `component`, `share`, `low`, "
        "`high`, and the `name` of a named component) and `tests` (`attribute`, `n_groups`, "
        "`n_people`, `statistic`, `p_value`, `p_holm`)"
    ),
    "`compare-models`": (
        "the fields of `mallowmix.assess.model_diff.Changes`, and `kendall`, the mean over "
        "`couples`"
    ),
    "`check`": "the fields of `mallowmix.checks.data_report.DataReport`",
    "`separability`": (
        "`n_items`, `n_components`, `threshold`, `n_draws`, `seed` and `results`, in the order "
        "given, each with `phi`, `probability`, `standard_error`, `lemma3_bound` (null where the "
        "lemma does not apply; below 0 it says nothing)"
    ),
}


def page() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(app)
    sections = [
        *map(_section, group.commands.values()),
        _reading(group.commands["check"]),
        _json(),
        _exit_codes(),
    ]
    return "\n".join([_START, *sections])


def _section(command: Any) -> str:
    """A command: what it does, how it is called, its options."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    reads = any(param.name in _READING for param in command.params)
    options = [
        param
        for param in command.params
        if param.param_type_name == "option" and not (reads and param.name in _READING)
    ]
    called = " ".join(
        ["mallowmix", command.name, *(_argument_name(param) for param in arguments), "[OPTIONS]"]
    )
    rows = [_row(param) for param in [*arguments, *options]]
    more = ["And [how to read the votes](#how-to-read-the-votes).", ""] if reads else []
    head = [
        f"## {command.name}",
        "",
        _wrapped(command.help),
        "",
        f"`{called}`",
        "",
    ]
    return "\n".join([*head, *rows, "", *more])


def _row(param: Any) -> str:
    return _entry(f"{_names(param)}: {param.help}{_default(param)}")


def _entry(text: str) -> str:
    """An entry of a list, in lines of 100 columns."""
    return fill(f"- {text}", 100, subsequent_indent="  ", **_WHOLE_WORDS)


def _wrapped(text: str) -> str:
    """Paragraphs in lines of 100 columns."""
    return "\n\n".join(fill(part, 100, **_WHOLE_WORDS) for part in text.split("\n\n"))


def _reading(command: Any) -> str:
    """The options that every command has which reads votes."""
    rows = [_row(param) for param in command.params if param.name in _READING]
    return "\n".join(
        [
            "## How to read the votes",
            "",
            _READS,
            "",
            *rows,
            "",
        ]
    )


def _argument_name(param: Any) -> str:
    return param.name.upper()


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_argument_name(param)}`"
    names = ", ".join(f"`{name}`" for name in param.opts)
    value = "" if param.is_flag else f" {param.metavar or 'FILE'}"
    return f"{names}{value}"


def _default(param: Any) -> str:
    if param.required:
        return " Required."
    return "" if param.default is None or param.default is False else f" Default: {param.default}."


def _json() -> str:
    rows = [_entry(f"{command}: {keys}.") for command, keys in _JSON.items()]
    return "\n".join(
        [
            "## What --json prints",
            "",
            "One object on one line.",
            "",
            *rows,
            "",
        ]
    )


def _exit_codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    debug = "With `MALLOWMIX_DEBUG=1` in the environment, every error also shows its traceback."
    return "\n".join(["## Exit codes", "", "| code | meaning |", "|---|---|", *rows, "", debug, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
