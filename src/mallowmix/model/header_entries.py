"""The kinds of the entries in a model file's header, checked before anything is made of them."""

import json
import math
from collections.abc import Mapping
from typing import Any

from mallowmix.errors import DataError

_KINDS: dict[str, tuple[type, str]] = {
    "items": (list, "a list"),
    "report": (dict, "a mapping"),
    "calibration": (dict, "a mapping"),
    "n_members": (int, "a whole number"),
    "predictor": (list, "a list"),
    "others": (list, "a list"),  # up to format 2
}


def check_header(header: Mapping[str, Any], begins: str = "") -> None:
    """Raise a DataError if an entry is of another kind, or holds text that is no Unicode.

    Parameters
    ----------
    header : mapping
        The header, of any format.
    begins : str
        What the message begins with.
    """
    for name, (kind, called) in _KINDS.items():
        value = header.get(name, kind())
        if not isinstance(value, kind) or isinstance(value, bool):
            shown = json.dumps(value)[:40]
            raise DataError(f"{begins}{name} is {shown}; it must be {called}.")
    for name, value in header.items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{begins}{name} holds the text {error.object[error.start : error.end]!r}, half of "
                "a character: no file or page can show it."
            ) from None


def as_json_value(value: Any, where: str) -> Any:
    """The value as plain JSON (a tuple becomes a list); a DataError says where it cannot be."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise DataError(
                    f"The model cannot be saved: {where} has the key {key!r}; keys must be text."
                )
        return {key: as_json_value(entry, f"{where}[{key!r}]") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_value(entry, f"{where}[{n}]") for n, entry in enumerate(value)]
    if (
        value is None
        or type(value) in (str, bool, int)
        or (type(value) is float and math.isfinite(value))
    ):
        return value
    raise DataError(
        f"The model cannot be saved: {where} is {value!r} ({type(value).__name__}), which JSON "
        "cannot hold; use text, finite numbers, true, false, null, lists and mappings."
    )
