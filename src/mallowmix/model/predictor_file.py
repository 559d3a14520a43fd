"""The predictor's part of a model file: an entry of the header, and tensors.

header   predictor: a list with an entry for each member
             {"kind": "utilities"}
             {"kind": "rankings", "error_rate": ε}
             {"kind": "mixed membership", "calibration": {…}}
tensors  predictor.weights (3, J), .evidence_weights (3,), .win_rate_draws (S + 1, Q)
         of the n-th member, from 1:
             utilities         predictor_n.means, .loadings, .variances, .shares
             rankings          predictor_n.sigma, .phi, .shares
             mixed membership  none: it is the file's own components
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import DataError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.m4 import M4
from mallowmix.model.predictor import CalibratedModel, Member, Predictor
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel

_DRAWS, _EVIDENCE = "predictor.win_rate_draws", "predictor.evidence_weights"
_TYPES = {"sigma": "<i4"}  # all others are float64
_NAMES = {
    "utilities": ("means", "loadings", "variances", "shares"),
    "rankings": ("sigma", "phi", "shares"),
    "mixed membership": (),
}


def predictor_to_file(
    predictor: Predictor, components: M4 | BradleyTerryModel
) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Turn a predictor into the header's entry and tensors.

    Parameters
    ----------
    predictor : Predictor
        What to write.
    components : M4 or BradleyTerryModel
        The file's own components; a mixed-membership member must be these.

    Returns
    -------
    entries : list of dict
        One for each member.
    tensors : dict of arrays
        By name.

    Raises
    ------
    DataError
        If a member holds other components.
    """
    entries, tensors = [], {"predictor.weights": _array("weights", predictor.weights)}
    tensors[_EVIDENCE] = _array("evidence", predictor.evidence_weights)
    if predictor.win_rate_draws is not None:
        tensors[_DRAWS] = _array("draws", predictor.win_rate_draws)
    for n, member in enumerate(predictor.members, 1):
        entry = _entry(member, components)
        entries.append(entry)
        for name in _NAMES[entry["kind"]]:
            tensors[f"predictor_{n}.{name}"] = _array(name, getattr(member, name))
    return entries, tensors


def _array(name: str, values: Any) -> NDArray[Any]:
    return np.ascontiguousarray(values, _TYPES.get(name, "<f8"))


def _entry(member: Member, components: M4 | BradleyTerryModel) -> dict[str, Any]:
    if isinstance(member, UtilitiesModel):
        return {"kind": "utilities"}
    if isinstance(member, RankingsModel):
        return {"kind": "rankings", "error_rate": member.error_rate}
    if member.model != components:
        raise DataError(
            "The model cannot be saved: its predictor holds components other than its own."
        )
    return {"kind": "mixed membership", "calibration": asdict(member.calibration)}


def predictor_from_file(
    entries: list[dict[str, Any]],
    tensors: Mapping[str, NDArray[Any]],
    items: Any,
    components: M4 | BradleyTerryModel,
) -> Predictor:
    """Make the predictor that `predictor_to_file` wrote.

    Parameters
    ----------
    entries : list of dict
        From the header.
    tensors : mapping of arrays
        All tensors of the file.
    items : (Q,) labels
        The items.
    components : M4 or BradleyTerryModel
        The file's own components.

    Returns
    -------
    Predictor
    """
    members: list[Member] = []
    for n, entry in enumerate(entries, 1):
        arrays = {name: tensors[f"predictor_{n}.{name}"] for name in _NAMES[entry["kind"]]}
        if entry["kind"] == "utilities":
            members.append(UtilitiesModel(**arrays, items=items))
        elif entry["kind"] == "rankings":
            members.append(RankingsModel(**arrays, error_rate=entry["error_rate"], items=items))
        else:
            members.append(CalibratedModel(components, Calibration(**entry["calibration"])))
    weights, evidence = tensors["predictor.weights"], tensors[_EVIDENCE]
    return Predictor(tuple(members), weights, tensors.get(_DRAWS), evidence)
