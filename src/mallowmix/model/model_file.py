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

from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.argument_kinds import as_path
from mallowmix.data.atomic_write import replacing
from mallowmix.data.labels import text_of
from mallowmix.data.near_file import did_you_mean_file
from mallowmix.errors import MallowmixError, ModelFileError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.header_entries import as_json_value, check_header
from mallowmix.model.m4 import M4
from mallowmix.model.model_envelope import altered_file, checked_tensors, read_header, sealed
from mallowmix.model.old_formats import Tensors, upgraded
from mallowmix.model.pair_model import check_model
from mallowmix.model.predictor_file import predictor_from_file, predictor_to_file

FORMAT = 3
_TYPES = {"sigma": "<i4", "phi": "<f8", "alpha": "<f8", "scores": "<f8"}


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
    file, data = as_path(path), dumps(model)
    with replacing(file) as temporary:
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
    file = as_path(path)
    if file.is_dir():
        raise _no_file(file)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        near = did_you_mean_file(file)
        raise ModelFileError(
            f"There is no model file {file}: check the name and the folder.{near}"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{file} cannot be read: {error.strerror or error}.") from None
    return loads(data, str(file))


def _no_file(folder: Path) -> ModelFileError:
    models = sorted(folder.glob("*.m4"))
    now = f"give one of the models in it, as in {models[0]}" if models else "name a model file"
    return ModelFileError(f"{folder} is a folder: {now}.")


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
        "report": as_json_value(fitted.report.to_dict(), "report"),
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
    return sealed(header, tensors)


def _tensors_of(model: M4 | BradleyTerryModel) -> dict[str, NDArray[Any]]:
    arrays: dict[str, Any] = {"alpha": model.alpha}
    if isinstance(model, M4):
        arrays |= {"sigma": model.sigma, "phi": model.phi}
    else:
        arrays |= {"scores": model.scores}
    return {name: np.ascontiguousarray(array, _TYPES[name]) for name, array in arrays.items()}


def loads(data: bytes, name: str = "The model") -> FittedModel:
    """The model in the bytes of a model file; `name` begins the messages."""
    header = read_header(data, name)
    version = header.get("format")
    if not isinstance(version, int) or version < 0:
        raise altered_file(name)
    if version > FORMAT:
        raise ModelFileError(
            f"{name} was written by a newer mallowmix (format {version}, this one reads up to "
            f"{FORMAT}): upgrade mallowmix."
        )
    tensors = checked_tensors(data, header, name)
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
