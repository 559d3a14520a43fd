"""PrefLib's .soc, .soi, .toc and .toi: header lines with #, then a line for each different order.

    # NUMBER ALTERNATIVES: 4
    # ALTERNATIVE NAME 1: tea
    …
    3: 2,{1,4},3

Here 3 voters gave the order 2, then 1 and 4 tied, then 3. Voters are anonymous: each is a user of
their own, called 1, 2, … in the order of the file.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mallowmix.data.rankings import Rankings
from mallowmix.errors import FileError
from mallowmix.readers.compressed import decompression_errors, open_bytes, unpacked_name
from mallowmix.readers.order_weights import check_fits_memory
from mallowmix.readers.ranked_comparisons import reading_of_rankings
from mallowmix.readers.reading import Reading, ReadOptions

ENDINGS = (".soc", ".soi", ".toc", ".toi")
_KEY = re.compile(r"#\s*([A-Z][A-Z ]*?)\s*(\d*)\s*:(.*)", re.S)
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")
_MOST_DIGITS = 15


class Order(NamedTuple):
    """A line: the number of voters, and groups of tied alternatives, numbered from 1."""

    count: int
    groups: list[list[int]]
    line: int


@dataclass
class Profile:
    """The content of a file: names of the alternatives by number, and the orders."""

    path: Path
    kind: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # the names that alternatives have
    orders: list[Order] = field(default_factory=list)

    def fail(self, line: int, what: str) -> NoReturn:
        """Raise a FileError that names the line."""
        raise FileError(f"{self.path} line {line}: {what}")


def is_preflib(path: Path) -> bool:
    """Return whether the file has an ending of PrefLib."""
    return unpacked_name(path).endswith(ENDINGS)


def read_preflib_file(path: Path, options: ReadOptions) -> Reading:
    """Read the comparisons of every voter."""
    with decompression_errors(path):
        rankings = _rankings(parse(path), options)
    return reading_of_rankings(rankings, options, "preflib")


def parse(path: Path) -> Profile:
    """Read a file and check it against its own header."""
    profile = Profile(path, unpacked_name(path)[-3:] if is_preflib(path) else "")
    for number, line in _lines(path):
        if line.startswith("#"):
            _read_header(profile, number, line)
        elif line.strip():
            profile.orders.append(_read_order(profile, number, line.strip()))
    _check_counts(profile)
    return profile


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without line ends."""
    with open_bytes(path) as file:
        content = file.read()
    if b"\0" in content:
        raise FileError(
            f"{path} is not a text file, whatever its name says: PrefLib's files are text in UTF-8."
        )
    if not content.strip():
        raise FileError(
            f"{path} is empty: it needs PrefLib's header of # lines and a line for each order."
        )
    for number, line in enumerate(io.BytesIO(content), start=1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise FileError(
                f"{path} line {number} is not UTF-8 text: save the file with the encoding UTF-8."
            ) from None


def _read_header(profile: Profile, number: int, line: str) -> None:
    match = _KEY.fullmatch(line)
    if match is None:
        profile.fail(
            number,
            f"{line[:40]!r} is no line of PrefLib's header: write # KEY: VALUE, as in # NUMBER "
            "ALTERNATIVES: 4.",
        )
    key, index, value = match[1], match[2], match[3].strip()
    if profile.orders and (key in _COUNTS or key == "ALTERNATIVE NAME"):
        profile.fail(number, f"# {key} stands after the first order: the header comes first.")
    if key == "ALTERNATIVE NAME":
        _read_name(profile, number, index, value)
    elif key in _COUNTS:
        _read_count(profile, number, key, value)
    elif key == "DATA TYPE":
        _read_kind(profile, number, value)


def _read_name(profile: Profile, number: int, index: str, value: str) -> None:
    if not index or len(index) > _MOST_DIGITS:
        profile.fail(
            number,
            "ALTERNATIVE NAME needs the alternative's number, as in # ALTERNATIVE NAME 1: tea.",
        )
    if int(index) in profile.names:
        profile.fail(number, f"alternative {index} has a name already: name each once.")
    if not value:
        profile.fail(
            number, f"the name of alternative {index} is missing: write it after the colon."
        )
    if value in profile.taken:
        value = f"{value} ({index})"  # two candidates of one name are two candidates
    profile.names[int(index)] = value
    profile.taken.add(value)


def _read_count(profile: Profile, number: int, key: str, value: str) -> None:
    if not value.isascii() or not value.isdigit() or len(value) > _MOST_DIGITS:
        profile.fail(number, f"{key} is {value[:40]!r}; it must be a whole number.")
    if key in profile.counts:
        profile.fail(number, f"{key} is there twice: say it once.")
    profile.counts[key] = int(value)


def _read_kind(profile: Profile, number: int, value: str) -> None:
    kind = value.lower()
    if f".{kind}" not in ENDINGS:
        profile.fail(
            number,
            f"DATA TYPE is {value[:40]!r}; orders are of the types "
            f"{', '.join(end[1:] for end in ENDINGS)}.",
        )
    if profile.kind and kind != profile.kind:
        profile.fail(
            number,
            f"DATA TYPE is {kind}, but the file's name ends in .{profile.kind}: which of them "
            "is it?",
        )
    profile.kind = kind


def _read_order(profile: Profile, number: int, line: str) -> Order:
    if "NUMBER ALTERNATIVES" not in profile.counts:
        old = (
            "PrefLib's format of before 2022; get the file anew"
            if re.fullmatch(r"\d+", line)
            else "no header"
        )
        profile.fail(number, f"{line[:40]!r} comes before # NUMBER ALTERNATIVES: this is {old}.")
    match = re.fullmatch(r"(\d{1,15})\s*:(.*)", line)
    if match is None or not match[2].strip():
        profile.fail(
            number,
            f"{line[:40]!r} is no order: write how many voters, a colon, and the order, as in 3: "
            f"2,{{1,4}},3.",
        )
    order = Order(int(match[1]), _read_groups(profile, number, match[2].replace(" ", "")), number)
    _check_order(profile, order)
    return order


def _read_groups(profile: Profile, number: int, text: str) -> list[list[int]]:
    """Parse 2,{1,4},3 to [[2], [1, 4], [3]]."""
    if not re.fullmatch(
        r"(?:\d{1,15}|\{\d{1,15}(?:,\d{1,15})*\})(?:,(?:\d{1,15}|\{\d{1,15}(?:,\d{1,15})*\}))*",
        text,
    ):
        profile.fail(
            number,
            f"{text[:40]!r} is no order: numbers with commas between them, ties in braces, as in "
            f"2,{{1,4}},3.",
        )
    return [
        [int(each) for each in part.strip("{}").split(",")]
        for part in re.findall(r"\{[^}]*\}|\d+", text)
    ]


def _check_order(profile: Profile, order: Order) -> None:
    listed = [each for group in order.groups for each in group]
    Q = profile.counts["NUMBER ALTERNATIVES"]
    for each in listed:
        if not 1 <= each <= Q:
            profile.fail(
                order.line, f"alternative {each} is listed, but there are {Q}, numbered from 1."
            )
    if len(set(listed)) < len(listed):
        twice = next(each for each, count in Counter(listed).items() if count > 1)
        profile.fail(order.line, f"alternative {twice} is listed twice: list each once.")
    if profile.kind in ("soc", "toc") and len(listed) < Q:
        profile.fail(
            order.line,
            f"the order lists {len(listed)} of {Q} alternatives, but .{profile.kind} is for "
            "complete orders.",
        )
    if profile.kind in ("soc", "soi") and len(order.groups) < len(listed):
        profile.fail(
            order.line, f"the order has a tie, but .{profile.kind} is for orders without ties."
        )


def _check_counts(profile: Profile) -> None:
    """Check the header's numbers against the content."""
    if "NUMBER ALTERNATIVES" not in profile.counts:
        raise FileError(
            f"{profile.path} has no line # NUMBER ALTERNATIVES: PrefLib's header needs it."
        )
    if not profile.orders:
        raise FileError(
            f"{profile.path} has a header but no order: give a line for each, as in 3: 2,{{1,4}},3."
        )
    Q = profile.counts["NUMBER ALTERNATIVES"]
    if wrong := [index for index in profile.names if not 1 <= index <= Q]:
        raise FileError(
            f"{profile.path} names alternative {wrong[0]}, but says that there are {Q}, "
            "numbered from 1."
        )
    used = {each for order in profile.orders for group in order.groups for each in group}
    if nameless := sorted(used - set(profile.names)) if profile.names else []:
        raise FileError(
            f"{profile.path} has no line # ALTERNATIVE NAME {nameless[0]}: name every alternative."
        )
    found = {
        "NUMBER VOTERS": sum(order.count for order in profile.orders),
        "NUMBER UNIQUE ORDERS": len(profile.orders),
    }
    for key, count in found.items():
        if profile.counts.get(key, count) != count:
            raise FileError(
                f"{profile.path} says {key}: {profile.counts[key]:,}, but has {count:,}: is it "
                "cut short?"
            )


def _rankings(profile: Profile, options: ReadOptions) -> Rankings:
    """Make one ranking for every voter."""
    counts = np.array([order.count for order in profile.orders], object)
    lengths = [sum(map(len, order.groups)) for order in profile.orders]
    check_fits_memory(
        int(sum(c * max(n, n * (n - 1) // 2) for c, n in zip(counts, lengths, strict=True)))
    )
    if not counts.sum():
        raise FileError(
            f"{profile.path}: every order was given by 0 voters: there is nobody to learn from."
        )
    known = sorted(profile.names) or sorted(
        {each for order in profile.orders for group in order.groups for each in group}
    )
    names = [profile.names.get(each, str(each)) for each in known]
    by_text = sorted(range(len(names)), key=lambda i: names[i])
    code = {known[i]: n for n, i in enumerate(by_text)}
    ranking, item, position = _entries(profile, code)
    # labels are numbered in the order of their text
    users = sorted(range(1, int(counts.sum()) + 1), key=str)
    user = np.empty(len(users), np.int64)
    user[np.array(users) - 1] = np.arange(len(users))
    unlisted = options.unlisted or "unknown"
    return Rankings.from_codes(
        user, ranking, item, position, [names[i] for i in by_text], users, unlisted=unlisted
    )


def _entries(profile: Profile, code: dict[int, int]) -> tuple[Any, ...]:
    """List ranking, item and position of every entry, each order once for each voter."""
    ranking, item, position, voter = [], [], [], 0
    for order in profile.orders:
        one_item = [code[each] for group in order.groups for each in group]
        one_position = [n for n, group in enumerate(order.groups) for _ in group]
        ranking.append(np.repeat(np.arange(voter, voter + order.count), len(one_item)))
        item.append(np.tile(one_item, order.count))
        position.append(np.tile(one_position, order.count))
        voter += order.count
    return np.concatenate(ranking), np.concatenate(item), np.concatenate(position)
