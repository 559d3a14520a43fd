"""Model files of older formats, brought to the present one step by step.

0  no report
1  neither calibration nor ensemble
2  the report as a free mapping, calibration by other names, the ensemble as other_1.sigma, …
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

Tensors: TypeAlias = Mapping[str, NDArray[Any]]
Header: TypeAlias = dict[str, Any]

_CALIBRATION = {
    "evidence": "likelihood_weight",
    "scale": "prior_scale",
    "vertex": "vertex_share",
    "spam": "spam_share",
}
_OPTIONS = {"vertices": ("corners", "novel_pairs")}  # by method: spectral, projections
_SPECTRAL = {
    "sampled_share": "sampled_share",
    "spectrum": "spectrum",
    "noise_edge": "noise_edge",
    "subspace_passes": "subspace_passes",
    "auto": "choice_of_k",
    "start": "initialisation",
    "moved": "moved",
    "moved_by_all": "moved_by_all",
    "predicted_halves": "predicted_halves",
    "half_distances": "half_distances",
}


def upgraded(header: Header, tensors: Tensors, wanted: int) -> tuple[Header, Tensors]:
    """Header and tensors in the wanted format."""
    while header["format"] < wanted:
        header, tensors = _STEPS[header["format"]](header, tensors)
    return header, tensors


def _from_0(header: Header, tensors: Tensors) -> tuple[Header, Tensors]:
    return {**header, "format": 1, "report": {}}, tensors


def _from_1(header: Header, tensors: Tensors) -> tuple[Header, Tensors]:
    return {**header, "format": 2, "calibration": {}, "others": []}, tensors


def _from_2(header: Header, tensors: Tensors) -> tuple[Header, Tensors]:
    n_members = len(header["others"])
    moved = {}
    for name, tensor in tensors.items():
        prefix, dot, rest = name.rpartition(".")
        new = prefix.replace("other_", "member_") + dot + rest
        moved[new] = tensor
    for n in range(1, n_members + 1):  # a member with scores is its scores alone
        if f"member_{n}.scores" in moved:
            del moved[f"member_{n}.sigma"], moved[f"member_{n}.phi"]
    calibration = {_CALIBRATION.get(k, k): v for k, v in header["calibration"].items()}
    kept = {name: value for name, value in header.items() if name != "others"}
    report = _report_from_2(dict(header["report"]))
    now = {"format": 3, "calibration": calibration, "report": report, "n_members": n_members}
    return {**kept, **now}, moved


_STEPS: dict[int, Callable[[Header, Tensors], tuple[Header, Tensors]]] = {
    0: _from_0,
    1: _from_1,
    2: _from_2,
}


def _report_from_2(old: dict[str, Any]) -> dict[str, Any]:
    """The free mapping of format 2 as the fields of `FitReport`; other entries are left out."""
    new: dict[str, Any] = {}
    for before, after in (
        ("method", "method"),
        ("seed", "seed"),
        ("users", "n_users"),
        ("comparisons", "n_comparisons"),
        ("fingerprint", "fingerprint"),
        ("notes", "notes"),
    ):
        if before in old:
            new[after] = old[before]
    options = dict(old.get("options") or {})
    if options.pop("columns", "mallows") == "bt":
        new["components"] = "bradley-terry"
    new["n_fits"] = options.pop("n_fits", 1)
    if old.get("method") in ("spectral", "projections"):
        new["options"] = _options_from_2(old["method"], options)
    if "novel_pairs" in old:
        names = ("novel_pairs", "solid_angles", "zeta")
        new["projections"] = {name: old[name] for name in names if name in old}
    elif "sampled_share" in old:
        new["spectral"] = _trace_from_2(old)
    if old.get("method") == "update":
        new["update"] = {**old.get("of", {}), "new_items": old.get("new_items", [])}
    if "calibration" in old:
        found = old["calibration"]
        new["calibration"] = {
            "split": found["split"],
            "n_users": found["users"],
            "loss_before": found["before"],
            "loss_after": found["after"],
        }
    return new


def _options_from_2(method: str, options: dict[str, Any]) -> dict[str, Any]:
    named = {"method": method}
    for name, value in options.items():
        if name in _OPTIONS:
            name = _OPTIONS[name][method == "projections"]
        if (name, value) == ("regression", "printed"):
            value = "algorithm-3"
        named[name] = value
    return named


def _trace_from_2(old: dict[str, Any]) -> dict[str, Any]:
    trace = {new: old[name] for name, new in _SPECTRAL.items() if name in old}
    halves = old.get("foretold_halves")  # its name in format 2; words: ok
    if halves:
        trace["predicted_halves"] = halves
    trace["elbo"] = [[name, bounds] for name, bounds in (old.get("elbo") or {}).items()]
    return trace
