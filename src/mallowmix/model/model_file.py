r"""A model in one file: safetensors with one JSON header; no pickle, no path, no time.

    tensors    sigma (K, Q) int32, phi (K,) float64, alpha (K,) float64; for Bradley–Terry
               components scores (K, Q) float64; the same of the ensemble's members as
               member_1.sigma, member_1.phi, …
    metadata   one key, "mallowmix": canonical JSON (sorted keys, no spaces) of
        format       the version of this layout, a whole number
        items        the labels of the items, as text
        report       how the model was learnt (`FitReport`)
        calibration  likelihood_weight, prior_scale, vertex_share, spam_share
        n_members    how many members the ensemble has
        predictor    the predictor's members, where it was learnt (`model.predictor_file`)
        component_names  where components have names
        sha256       over the JSON without this entry, then every tensor by name:
                     "\nname dtype shape\n" and its bytes

The same model gives the same bytes. Files of older formats stay readable (`model.old_formats`).
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
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
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.header_entries import check_header
from mallowmix.model.m4 import M4
from mallowmix.model.old_formats import Tensors, upgraded
from mallowmix.model.pair_model import check_model
from mallowmix.model.predictor_file import predictor_from_file, predictor_to_file

FORMAT = 3
KEY = "mallowmix"
_TYPES = {"sigma": "<i4", "phi": "<f8", "alpha": "<f8", "scores": "<f8"}
_LONGEST_HEADER = 100_000_000  # of any safetensors file


def save(model: AnyModel, path: str | PathLike[str]) -> None:
    """Write a model to a file, which is replaced whole or not at all.

    Parameters
    ----------
    model : FittedModel or M4
        Parameters, report, calibration and ensemble are written, no comparisons.
    path : str or path
        The file; ``.m4`` is the usual ending.

    Examples
    --------
    >>> import mallowmix as mm, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "dishes.m4"
    >>> mm.save(mm.load_dishes().model, file)
    >>> mm.load(file).n_components
    3
    """
    check_model(model)
    data = dumps(model)
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def load(path: str | PathLike[str]) -> FittedModel:
    """Read a model that `save` wrote; item labels come back as text.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    FittedModel
        The model as it was saved.

    Raises
    ------
    ModelFileError
        If the file is truncated, altered, foreign, or written by a newer version.

    Examples
    --------
    >>> import mallowmix as mm, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "dishes.m4"
    >>> mm.save(mm.load_dishes().model, file)
    >>> mm.load(file).items[:3].tolist()
    ['Greek salad', 'ceviche', 'falafel']
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise ModelFileError(
            f"There is no model file {Path(path)}: check the name and the folder."
        ) from None
    except OSError as error:
        raise ModelFileError(f"{Path(path)} cannot be read: {error.strerror or error}.") from None
    return loads(data, str(Path(path)))


def dumps(model: AnyModel) -> bytes:
    """The model as the bytes of a model file."""
    fitted = as_fitted(model)
    tensors = _tensors_of(fitted.m4)
    if fitted.bradley_terry is not None:
        tensors |= _tensors_of(fitted.bradley_terry)
    for n, member in enumerate(fitted.ensemble, 1):
        tensors |= {f"member_{n}.{name}": each for name, each in _tensors_of(member).items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "items": text_of(fitted.items),
        "report": _as_json(fitted.report.to_dict(), "report"),
        "calibration": asdict(fitted.calibration),
        "n_members": len(fitted.ensemble),
    }
    if fitted.predictor is not None:
        entries, arrays = predictor_to_file(fitted.predictor, fitted.components)
        header["predictor"] = entries
        tensors |= arrays
    if fitted.component_names:
        header["component_names"] = list(fitted.component_names)
    check_header(header, "The model cannot be saved: ")
    header["sha256"] = _digest(header, tensors)
    return save_tensors(tensors, metadata={KEY: _canonical(header)})


def _tensors_of(model: M4 | BradleyTerryModel) -> dict[str, NDArray[Any]]:
    arrays: dict[str, Any] = {"alpha": model.alpha}
    if isinstance(model, M4):
        arrays |= {"sigma": model.sigma, "phi": model.phi}
    else:
        arrays |= {"scores": model.scores}
    return {name: np.ascontiguousarray(array, _TYPES[name]) for name, array in arrays.items()}


def loads(data: bytes, name: str = "The model") -> FittedModel:
    """The model in the bytes of a model file; `name` begins the messages."""
    header = _header(data, name)
    version = header.get("format")
    if not isinstance(version, int) or version < 0:
        raise _altered(name)
    if version > FORMAT:
        raise ModelFileError(
            f"{name} was written by a newer mallowmix (format {version}, this one reads up to "
            f"{FORMAT}): upgrade mallowmix."
        )
    tensors = _tensors(data, name)
    _check_digest(header, tensors, name)
    return _model(header, tensors, name)


def _model(header: dict[str, Any], tensors: Tensors, name: str) -> FittedModel:
    try:
        check_header(header)
        header, tensors = upgraded(header, tensors, FORMAT)
        items = header["items"]
        own = _read(items, tensors, "")
        members = [_read(items, tensors, f"member_{n + 1}.") for n in range(header["n_members"])]
        fitted = FittedModel(
            own[0],
            FitReport.from_dict(header["report"]),
            Calibration(**header["calibration"]),
            Ensemble(tuple(bt or m4 for m4, bt in members)),
            own[1],
            component_names=tuple(header.get("component_names", ())),
        )
        if "predictor" not in header:
            return fitted
        found = predictor_from_file(header["predictor"], tensors, items, fitted.components)
        return replace(fitted, predictor=found)
    except KeyError as error:
        raise ModelFileError(
            f"{name} is not a valid model: it lacks {error.args[0]!r}. Save the model again."
        ) from None
    except (MallowmixError, TypeError, ValueError, AttributeError) as error:
        reason = str(error).rstrip(".")
        text = f"{name} is not a valid model: {reason}. Save the model again."
        raise ModelFileError(text) from None


def _read(items: Any, tensors: Tensors, prefix: str) -> Any:
    """The Mallows components under a prefix, and the Bradley–Terry scores where there are some."""
    alpha, scores = tensors[prefix + "alpha"], tensors.get(prefix + "scores")
    bt = None if scores is None else BradleyTerryModel(scores, alpha, items)
    if bt is not None and prefix:
        return None, bt
    return M4(tensors[prefix + "sigma"], tensors[prefix + "phi"], alpha, items), bt


def _header(data: bytes, name: str) -> dict[str, Any]:
    """Our entry in the header of a safetensors file: its length in eight bytes, then JSON."""
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
    """Where the last tensor ends, by the header; 0 where the header does not say."""
    try:
        tensors = (entry for key, entry in outer.items() if key != "__metadata__")
        return max(int(entry["data_offsets"][1]) for entry in tensors)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
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
        raise _altered(name) from None
    if header.get("sha256") != true:
        raise _altered(name)


def _as_json(value: Any, where: str) -> Any:
    """The value as plain JSON (a tuple becomes a list); a DataError says where it cannot be."""
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
        f"The model cannot be saved: {where} is {value!r} ({type(value).__name__}), which JSON "
        "cannot hold; use text, finite numbers, true, false, null, lists and mappings."
    )
