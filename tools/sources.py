"""Where the numbers of a page come from: the entries `[[source]]` of docs/claims.toml.

An entry covers blocks of a page (a paragraph, a table, an item of a list: what stands between two
empty lines): those that contain one of the phrases `at`, or all of the page. It says one of

    from = "table2.csv"       every number is in that file, rounded as it is printed; or in a file
                              of code, a test: as a literal (`tools.result_values.values_of`)
    made_by = "tests/…::…"    a program writes the block, and this test compares the two
    given = "why"             no result: printed in the paper, an option, a convention

A block may have several sources; each of its numbers must be in one of them.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools.result_values import NUMBER, is_backed, values_of

Entry = dict[str, Any]
# levels of intervals, versions of programs and numbers of propositions are no results
_NO_RESULT = re.compile(
    r"\d\d ?%(?=\)? (?:confidence )?intervals?)|(?:[Pp]ython|version) \d[\d.]*(?: or \d[\d.]*)?"
    r"|Proposition \d\.\d"
)


class Block(NamedTuple):
    """Consecutive lines of a page: the number of the first, the text, and it without what holds
    no results.
    """

    line: int
    text: str
    blank: str


class Unbacked(NamedTuple):
    """A number at a line; `sources` says where it was looked for, and is empty without any."""

    line: int
    number: str
    sources: str


def read_sources(root: Path) -> list[Entry]:
    """The entries, each with a list of phrases and of files."""
    file = root / "docs" / "claims.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("source", [])
    return [_with_lists(entry) for entry in entries] if file.exists() else []


def _with_lists(entry: Entry) -> Entry:
    listed = {
        key: [entry[key]] if isinstance(entry[key], str) else entry[key]
        for key in ("at", "from")
        if key in entry
    }
    return entry | listed


def blocks(text: str, blank: str) -> list[Block]:
    """A page in blocks; `blank` is the page with blanks for what holds no results."""
    found: list[Block] = []
    lines, seen = text.splitlines(), blank.splitlines()
    start = 0
    for number in range(len(lines) + 1):
        if number == len(lines) or not lines[number].strip() or _new_item(lines[number]):
            if number > start:
                part = slice(start, number)
                found.append(Block(start + 1, "\n".join(lines[part]), "\n".join(seen[part])))
            start = number if number < len(lines) and lines[number].strip() else number + 1
    return found


def _new_item(line: str) -> bool:
    return bool(re.match(r"\s*(?:[-*]|\d+\.) ", line)) or line.startswith("#")


def unbacked_numbers(
    page: str, text: str, blank: str, entries: list[Entry], root: Path
) -> Iterator[Unbacked]:
    """Numbers of a page that none of their block's sources holds."""
    entries = [entry for entry in entries if entry["page"] == page]
    if any("made_by" in entry and "at" not in entry for entry in entries):
        return
    for block in blocks(text, blank):
        covering = [entry for entry in entries if _covers(entry, block)]
        if any("made_by" in entry for entry in covering):
            continue
        for offset, line in enumerate(block.blank.splitlines()):
            for number in NUMBER.findall(_NO_RESULT.sub(" ", line)):
                if not any(_backs(entry, number, root) for entry in covering):
                    names = ", ".join(_name(entry) for entry in covering)
                    yield Unbacked(block.line + offset, number, names)


def wrong_entries(pages: dict[str, str], entries: list[Entry], root: Path) -> Iterator[str]:
    """Entries whose page, phrase, file or test is not there, or that say nothing."""
    for entry in entries:
        if entry["page"] not in pages:
            yield f"there is no page {entry['page']}"
            continue
        flat = _flat(pages[entry["page"]])
        yield from (
            f"{entry['page']} does not say {at!r}"
            for at in entry.get("at", [])
            if _flat(at) not in flat
        )
        if len({"from", "made_by", "given"} & set(entry)) != 1:
            yield f"{entry['page']}, {_name(entry)}: needs one of from, made_by, given"
        try:
            for name in [
                *entry.get("from", []),
                *([entry["made_by"]] if "made_by" in entry else []),
            ]:
                values_of(root, name, entry)
        except (KeyError, IndexError, ValueError, OSError) as error:
            yield f"{entry['page']}: {error}"


def _covers(entry: Entry, block: Block) -> bool:
    return "at" not in entry or any(_flat(at) in _flat(block.text) for at in entry["at"])


def _backs(entry: Entry, number: str, root: Path) -> bool:
    if "given" in entry:
        numbers = entry.get("numbers")
        return numbers is None or number.rstrip("% ").replace("−", "-") in numbers
    try:
        return any(is_backed(number, values_of(root, name, entry)) for name in entry["from"])
    except (KeyError, IndexError, ValueError, OSError):
        return False


def _name(entry: Entry) -> str:
    return ", ".join(entry.get("from", [])) or str(entry.get("given") or entry.get("made_by", ""))


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)
