r"""A model in one file: safetensors with one JSON header; no pickle, no path, no time.

    tensors    sigma (K, Q) int32, phi (K,) float64, alpha (K,) float64; scores (K, Q) float64 where columns are Bradley–Terry;
               the same of further fits as other_1.sigma, other_1.phi, …
    metadata   one key, "mallowmix": canonical JSON (sorted keys, no spaces) of
        format     the version of this layout, a whole number
        items      the labels of the items, as text
        report     what is known of how the model came about
        calibration  evidence, scale, vertex, spam
        others     the reports of the further fits
        sha256     over the JSON without this entry, then every tensor by name: "\nname dtype shape\n" and its bytes

The same model gives the same bytes.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from mallowmix.data.atomic_write import replacing
from mallowmix.data.labels import text_of
from mallowmix.errors import DataError, MallowmixError, ModelFileError
from mallowmix.model.calibration import Calibration
from mallowmix.model.m4 import M4

FORMAT = 2
KEY = "mallowmix"
_TENSORS = {"sigma": "<i4", "phi": "<f8", "alpha": "<f8", "scores": "<f8"}
_LONGEST_HEADER = 100_000_000  # of any safetensors file


def save(model: M4, path: str | PathLike[str]) -> None:
    """Write the model to a file, which is replaced whole or not at all."""
    data = dumps(model)
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def load(path: str | PathLike[str]) -> M4:
    """Read a model that `save` wrote; item labels come back as text."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise ModelFileError(
            f"There is no model file {Path(path)}: check the name and the folder."
        ) from None
    except OSError as error:
        raise ModelFileError(f"{Path(path)} cannot be read: {error.strerror or error}.") from None
    return loads(data, str(Path(path)))


def dumps(model: M4) -> bytes:
    """The model as the bytes of a model file."""
    tensors = _tensors_of(model)
    for n, other in enumerate(model.others, 1):
        tensors |= {f"other_{n}.{name}": tensor for name, tensor in _tensors_of(other).items()}
    header = {
        "format": FORMAT,
        "items": text_of(model.items),
        "report": _as_json(model.report, "report"),
    }
    header["calibration"] = asdict(model.calibration)
    header["others"] = [
        _as_json(other.report, f"others[{n}].report") for n, other in enumerate(model.others)
    ]
    header["sha256"] = _digest(header, tensors)
    return save_tensors(tensors, metadata={KEY: _canonical(header)})


def _tensors_of(model: M4) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(model, name) for name in _TENSORS}
    return {
        name: np.ascontiguousarray(array, _TENSORS[name])
        for name, array in arrays.items()
        if array is not None
    }


def loads(data: bytes, name: str = "The model") -> M4:
    """The model in the bytes of a model file; `name` begins the messages."""
    header = _header(data, name)
    version = header.get("format")
    if not isinstance(version, int) or version < 0:
        raise _altered(name)
    if version > FORMAT:
        raise ModelFileError(
            f"{name} was written by a newer mallowmix (format {version}, this one reads up to {FORMAT}): upgrade mallowmix."
        )
    tensors = _tensors(data, name)
    _check_digest(header, tensors, name)
    return _model(_upgraded(header), tensors, name)


def _from_0(header: dict[str, Any]) -> dict[str, Any]:
    """Format 0 had no report."""
    return {**header, "format": 1, "report": {}}


def _from_1(header: dict[str, Any]) -> dict[str, Any]:
    """Format 1 knew neither calibration nor further fits."""
    return {**header, "format": 2, "calibration": {}, "others": []}


# version: its header → the next version's
_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {0: _from_0, 1: _from_1}


def _upgraded(header: dict[str, Any]) -> dict[str, Any]:
    while header["format"] < FORMAT:
        header = _UPGRADES[header["format"]](header)
    return header


def _model(header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str) -> M4:
    try:
        others = [
            _one(header["items"], report, tensors, f"other_{n}.")
            for n, report in enumerate(header["others"], 1)
        ]
        model = _one(header["items"], header["report"], tensors, "")
        return dataclasses.replace(
            model, calibration=Calibration(**header["calibration"]), others=tuple(others)
        )
    except KeyError as error:
        raise ModelFileError(
            f"{name} is not a valid model: it lacks {error.args[0]!r}. Save the model again."
        ) from None
    except (MallowmixError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{name} is not a valid model: {error} Save the model again."
        ) from None


def _one(items: Any, report: Any, tensors: Mapping[str, NDArray[Any]], prefix: str) -> M4:
    sigma, phi, alpha = (tensors[prefix + name] for name in ("sigma", "phi", "alpha"))
    return M4(sigma, phi, alpha, items, report, tensors.get(prefix + "scores"))


def _header(data: bytes, name: str) -> dict[str, Any]:
    """Our entry in the header of a safetensors file: eight bytes of length, JSON of that length, the tensors."""
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
        raise _altered(name) from None
    if not isinstance(value, dict):
        raise _altered(name)
    return value


def _data_size(outer: Mapping[str, Any]) -> int:
    """Where the last tensor ends, by the header's own word; 0 where it cannot be told."""
    try:
        return max(
            entry["data_offsets"][1] for key, entry in outer.items() if key != "__metadata__"
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return 0


def _tensors(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    try:
        return load_tensors(data)
    except (SafetensorError, KeyError, ValueError, TypeError):
        raise _altered(name) from None


def _truncated(name: str) -> ModelFileError:
    return ModelFileError(f"{name} is cut short: copy or save the model again.")


def _altered(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} was altered after it was written (its checksum is wrong): copy or save the model again."
    )


def _foreign(name: str) -> ModelFileError:
    return ModelFileError(
        f"{name} is not a model file: mallowmix reads what `mallowmix fit` or `save` wrote."
    )


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
        raise _altered(name) from None
    if header.get("sha256") != true:
        raise _altered(name)


def _as_json(value: Any, where: str) -> Any:
    """The value as plain JSON (a tuple becomes a list); what JSON cannot hold is named by its place in the report."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise DataError(
                    f"The model cannot be saved: {where} has the key {key!r}; keys must be text."
                )
        return {key: _as_json(entry, f"{where}[{key!r}]") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(entry, f"{where}[{n}]") for n, entry in enumerate(value)]
    if (
        value is None
        or type(value) in (str, bool, int)
        or (type(value) is float and math.isfinite(value))
    ):
        return value
    raise DataError(
        f"The model cannot be saved: {where} is {value!r} ({type(value).__name__}), which JSON cannot hold; "
        "use text, finite numbers, true, false, null, lists and mappings."
    )
