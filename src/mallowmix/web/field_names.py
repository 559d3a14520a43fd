"""How the HTTP API writes an option of the library: by the field of its requests and answers."""

import json

from mallowmix.errors import MallowmixError, Option, written

FIELDS = {  # the library's name → the API's, where they differ
    "comparisons": "choices",
    "n_components": "components",
    "weight": "times",
}


def in_fields(error: MallowmixError) -> str:
    """An error of the library as text, in the names of the API."""
    return written(error.parts, as_field)


def as_field(option: Option) -> str:
    """An option as a field, with its value as JSON where it has one.

    Examples
    --------
    >>> as_field(Option("n_components", 3)), as_field(Option("weight"))
    ('"components": 3', 'times')
    """
    name = FIELDS.get(option.name, option.name)
    if not option.has_value:
        return name
    return f"{json.dumps(name)}: {json.dumps(option.value, default=str)}"
