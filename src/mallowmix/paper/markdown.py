"""Tables and numbers of the experiments' pages, in Markdown."""

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

_WIDTH = 100  # of a page's lines, but for tables


def wrap_markdown(text: str, indent: str = "") -> list[str]:
    """Text in lines of a page's width; code in backticks is not broken.

    Parameters
    ----------
    text : str
        A paragraph, or an item of a list.
    indent : str
        What every line but the first begins with.

    Returns
    -------
    list of str
        The lines.
    """
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return [line.replace("\0", " ") for line in wrap(whole, _WIDTH, subsequent_indent=indent)]


def markdown_table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, its first column to the left and the others to the right.

    Parameters
    ----------
    heading : sequence of str
        The names of the columns.
    lines : iterable of sequences of str
        The cells.

    Returns
    -------
    str
        The table, without a newline at its end.

    Examples
    --------
    >>> print(markdown_table(("K", "error"), [("5", ".012")]))
    | K | error |
    |---|---:|
    | 5 | .012 |
    """
    rule = "|---|" + "---:|" * (len(heading) - 1)
    return "\n".join(
        [f"| {' | '.join(heading)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)]
    )


def decimal_text(value: Any, n_digits: int = 4) -> str:
    """A number with a fixed number of digits after the point and no zero before it.

    Parameters
    ----------
    value : float, str or None
        The number, also as text.
    n_digits : int
        How many digits after the point.

    Returns
    -------
    str
        The number, or a dash where there is none (None or "").

    Examples
    --------
    >>> decimal_text(0.82413), decimal_text("-0.25", 2), decimal_text(None)
    ('.8241', '-.25', '–')
    """
    if value in (None, ""):
        return "–"
    text = f"{float(value):.{n_digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def error_text(value: float | None) -> str:
    """An error with more digits the smaller it is.

    Parameters
    ----------
    value : float, optional
        The error, 0 or more.

    Returns
    -------
    str
        The error without the zero before its point, or a dash where there is none.

    Examples
    --------
    >>> [error_text(value) for value in (0.371, 0.0016, 0.00004, 0.0, None)]
    ['.371', '.0016', '.00004', '0', '–']
    """
    if value is None:
        return "–"
    n_digits = 5 if 0 < value < 0.00095 else 4 if value < 0.0995 else 3
    return f"{value:.{n_digits}f}".lstrip("0") if value else "0"
