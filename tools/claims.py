"""Numbers in README and docs that come from result files: `make claims` checks them.

A number that comes from a file stands between two comments,

    <!--=NAME-->.514<!--/=-->        a number; docs/claims.toml says which
    <!--=table fig4.md 1-->          the first table of benchmarks/results/fig4.md, in lines of its
    <!--/=-->                        own between the two comments

and `python -m tools.claims --write` fills it in. Other numbers have an entry `[[source]]` in
docs/claims.toml, which names the file, test or program that holds them (tools/sources.py); a number
that its source does not hold differs too. Listed are also result files without a record of
where they come from, those that were made by other code than today's, and numbers without a
source. A file of other code of which a cheap row was run again with today's, and agreed
(tools/cheap_rows.py), is not listed; one whose row disagrees is. A number that is no result
(of the paper, of a definition) stands between `<!--given-->` and `<!--/given-->`. With STRICT=1, or
`--strict`, each of these is a failure; without, only a number or a row that differs is.
"""

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mallowmix.paper.provenance import changed_modules
from tools.cheap_rows import KEPT, checked, disagreeing, records_of
from tools.result_values import lookup, results
from tools.sources import read_sources, unbacked_numbers, wrong_entries

HERE = Path(__file__).resolve().parent.parent
_MARK = re.compile(r"<!--=(?P<name>[^>]*?)-->(?P<text>.*?)<!--/=-->", re.DOTALL)
_GIVEN = re.compile(r"<!--given-->.*?<!--/given-->", re.DOTALL)
# what holds no results: code, mathematics, addresses, links to places, comments
_OTHER = re.compile(r"```.*?```|`[^`\n]*`|\$[^$]*\$|\]\([^)]*\)|<!--.*?-->|https?://\S+", re.DOTALL)


class Finding(NamedTuple):
    """What is wrong: the kind, where, and what."""

    kind: str
    where: str
    what: str


def main() -> int:
    """Print what is wrong; the exit code says whether it is a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="fill in the numbers that differ")
    parser.add_argument("--strict", action="store_true", default=os.environ.get("STRICT") == "1")
    parser.add_argument("--root", type=Path, default=HERE)
    given = parser.parse_args()
    if given.write:
        write_claims(given.root)
    found = all_findings(given.root)
    for finding in found:
        print(f"{finding.where}: {finding.kind}: {finding.what}")
    kinds = {kind: sum(each.kind == kind for each in found) for kind in KINDS}
    print(", ".join(f"{n} {kind}" for kind, n in kinds.items()))
    return int(bool(found) if given.strict else any(kinds[kind] for kind in FAILURES))


FAILURES = ("differs", "unknown", "disagrees")
KINDS = (*FAILURES, "no record", "stale", "dirty", "no source")


def all_findings(root: Path) -> list[Finding]:
    """Everything that is wrong in a repository."""
    found: list[Finding] = []
    pages = {
        file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in _pages(root)
    }
    entries = read_sources(root)
    for where, text in pages.items():
        found += wrong_numbers(text, where, root)
        found += unsourced_numbers(text, where, entries, root)
    for wrong in wrong_entries(pages, entries, root):
        found.append(Finding("unknown", "docs/claims.toml", wrong))
    return [*found, *result_findings(root)]


def write_claims(root: Path) -> None:
    """Fill in every number whose file is known."""
    for file in _pages(root):
        text = file.read_text(encoding="utf-8")
        new = _MARK.sub(lambda mark: _filled(mark, root), text)
        if new != text:
            file.write_text(new, encoding="utf-8")


def wrong_numbers(text: str, where: str, root: Path) -> Iterator[Finding]:
    """Marked numbers that differ from their file, or whose file or name is unknown."""
    for mark in _MARK.finditer(text):
        line = f"{where}:{text.count(chr(10), 0, mark.start()) + 1}"
        try:
            expected = claimed(mark["name"], root)
        except (KeyError, ValueError, OSError) as error:
            yield Finding("unknown", line, f"{mark['name']} ({error})")
            continue
        if mark["text"] != expected:
            yield Finding(
                "differs", line, f"{mark['name']}: {mark['text'].strip()!r}, not {expected!r}"
            )


def unsourced_numbers(
    text: str, where: str, entries: list[dict[str, Any]], root: Path
) -> Iterator[Finding]:
    """Decimals and percentages that are neither marked nor given, and that no source holds."""
    blank = text
    for pattern in (_MARK, _GIVEN, _OTHER):
        blank = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), blank)
    for found in unbacked_numbers(where, text, blank, entries, root):
        line = f"{where}:{found.line}"
        if found.sources:
            yield Finding("differs", line, f"{found.number} is not in {found.sources}")
        else:
            yield Finding("no source", line, found.number)


def result_findings(root: Path) -> Iterator[Finding]:
    """Result files without a record, made by other code, or from a tree with changes."""
    folder = root / "benchmarks" / "results"
    for what in disagreeing(root):
        yield Finding("disagrees", "tools/cheap_rows.toml", what)
    for file in sorted(folder.glob("*.json")) + sorted(folder.glob("*.csv")):
        if file.name.endswith(".runs.json") or file.name == KEPT:
            continue
        where, records = file.relative_to(root).as_posix(), records_of(file)
        if not records:
            yield Finding("no record", where, "of where it comes from")
        known = checked(file.name, root)
        for record in records:
            changed = changed_modules(record["modules"], root)
            if changed and not known:
                some = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
                yield Finding("stale", where, f"{len(changed)} modules have changed: {some}")
            if not record["clean"]:
                yield Finding("dirty", where, f"made from changed files, commit {record['commit']}")


def claimed(name: str, root: Path) -> str:
    """What stands between the comments of a name."""
    if name.startswith("table "):
        _, file, number = name.split()
        tables = _tables(results(root, file).read_text(encoding="utf-8"))
        if int(number) > len(tables):
            raise ValueError(f"{file} has {len(tables)} tables")
        return "\n" + tables[int(number) - 1]
    claims = tomllib.loads((root / "docs" / "claims.toml").read_text(encoding="utf-8"))
    claim = claims[name]
    value = lookup(results(root, claim["file"]), claim) * claim.get("times", 1)
    text = format(value, claim.get("format", ".3f"))
    text = re.sub(r"^(-?)0\.", r"\1.", text) if claim.get("bare", True) else text
    return text.replace("-", "−")


def _filled(mark: re.Match[str], root: Path) -> str:
    try:
        text = claimed(mark["name"], root)
    except (KeyError, ValueError, OSError):
        return mark[0]
    return f"<!--={mark['name']}-->{text}<!--/=-->"


def _tables(text: str) -> list[str]:
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    if not found:
        raise ValueError("there is no table")
    return found


def _pages(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


if __name__ == "__main__":
    sys.exit(main())
