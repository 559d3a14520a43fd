"""Labels in text, and small pieces of HTML for notebooks, with every label escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def printable(label: object) -> str:
    """A label as one line of text; characters that do not print (a line break) are escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(label)
    )


def a_or_an(noun: str) -> str:
    """A noun with its article: a list, an int, an M4."""
    spelled = noun[:1] in "FHLMNRSX" and not noun[1:2].islower()  # the letter is said by its name
    return f"{'an' if noun[:1].lower() in 'aeiou' or spelled else 'a'} {noun}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence: "a, b and c"."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def name_of(label: object) -> str:
    """A label as HTML: escaped, in an element of its own so that right-to-left text stays apart."""
    return f"<bdi>{escape(printable(label))}</bdi>"


def table_of(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table whose cells are HTML already; headings and caption are plain text."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    said = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def list_of(sentences: Iterable[str]) -> str:
    """Plain sentences as a list."""
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def percent(share: float) -> str:
    """0.4213 as 42.1 %."""
    return f"{100 * share:.1f}&nbsp;%"


def counted(count: float, one: str, many: str) -> str:
    """Write a count with its noun: 1 person, 2,000 people."""
    return f"{count:,.12g} {one if count == 1 else many}"
