"""Labels in CSV files that a spreadsheet would take for formulas: an apostrophe goes before them.

``=HYPERLINK(…)`` as the name of an item runs when the file is opened in a spreadsheet. Files that
mallowmix writes have ``'=HYPERLINK(…)`` instead, and reading takes the apostrophe away again.
"""

import re
from typing import Any

# as Arrow's regular expressions have it, too; a number is no formula
FORMULA = r"'*(?:[=@\t\r\n]|[+-][0-9.,]*[^0-9.,])"
_formula = re.compile(FORMULA)


def escaped(label: str) -> str:
    """Return a label as it is written into a CSV file.

    Examples
    --------
    >>> escaped("=1+1"), escaped("tea"), escaped("-5"), escaped("'=x")
    ("'=1+1", 'tea', '-5', "''=x")
    """
    return "'" + label if _formula.match(label) else label


def csv_value(value: Any) -> Any:
    """Return a value as it is written into a CSV file: texts escaped, numbers as they are."""
    return escaped(value) if isinstance(value, str) else value


def unescaped(text: str) -> str:
    """Return the label of a field of a CSV file: what `escaped` was given.

    Examples
    --------
    >>> unescaped("'=1+1"), unescaped("tea"), unescaped("'tis")
    ('=1+1', 'tea', "'tis")
    """
    return text[1:] if text.startswith("'") and _formula.match(text) else text
