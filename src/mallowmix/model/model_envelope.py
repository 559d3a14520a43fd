"""The envelope of a model file: safetensors with one JSON header that holds a checksum.

What is cut short, altered or foreign is found here, before anything is made of it.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from mallowmix.errors import ModelFileError

KEY = "mallowmix"
_LONGEST_HEADER = 100_000_000  # of any safetensors file


def sealed(header: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file with this header, its checksum added, and these tensors."""
    whole = header | {"sha256": _digest(header, tensors)}
    return save_tensors(dict(tensors), metadata={KEY: _canonical(whole)})


def read_header(data: bytes, name: str) -> dict[str, Any]:
    """Our entry in the header of a safetensors file: its length in eight bytes, then JSON."""
    if not data:
        raise ModelFileError(f"{name} is empty, and no model: copy or save the model again.")
    length = int.from_bytes(data[:8], "little")
    if len(data) < 9 or (data[8:9] == b"{" and len(data) < 8 + length <= _LONGEST_HEADER):
        raise _truncated(name)
    if data[8:9] != b"{" or length > _LONGEST_HEADER:
        raise _foreign(name)
    outer = _parsed(data[8 : 8 + length], name)
    metadata = outer.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise ModelFileError(
            f"{name} is a safetensors file, but not a model of mallowmix: it has no entry {KEY!r}."
        )
    if len(data) < 8 + length + _data_size(outer):
        raise _truncated(name)
    return _parsed(metadata[KEY], name)


def _parsed(text: str | bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise altered_file(name) from None
    if not isinstance(value, dict):
        raise altered_file(name)
    return value


def _data_size(outer: Mapping[str, Any]) -> int:
    """Where the last tensor ends, by the header; 0 where the header does not say."""
    try:
        tensors = (entry for key, entry in outer.items() if key != "__metadata__")
        return max(int(entry["data_offsets"][1]) for entry in tensors)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return 0


def checked_tensors(data: bytes, header: dict[str, Any], name: str) -> dict[str, NDArray[Any]]:
    """The tensors of a file whose header was read; an error where the checksum is another."""
    try:
        tensors = load_tensors(data)
    except (SafetensorError, KeyError, ValueError, TypeError):
        raise altered_file(name) from None
    _check_digest(header, tensors, name)
    return tensors


def _truncated(name: str) -> ModelFileError:
    return ModelFileError(f"{name} is cut short: copy or save the model again.")


def altered_file(name: str) -> ModelFileError:
    """The error for a file whose checksum is wrong."""
    return ModelFileError(
        f"{name} was altered after it was written (its checksum is wrong): "
        "copy or save the model again."
    )


def _foreign(name: str) -> ModelFileError:
    wrote = "mallowmix reads what `mallowmix fit` or `save` wrote"
    return ModelFileError(f"{name} is not a model file: {wrote}.")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(_canonical(header).encode())
    for name in sorted(tensors):
        digest.update(f"\n{name} {tensors[name].dtype.str} {list(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _check_digest(header: dict[str, Any], tensors: Mapping[str, NDArray[Any]], name: str) -> None:
    try:
        true = _digest({key: value for key, value in header.items() if key != "sha256"}, tensors)
    except ValueError:  # NaN or infinity, which we never write
        raise altered_file(name) from None
    if header.get("sha256") != true:
        raise altered_file(name)
