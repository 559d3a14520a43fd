"""Records of how a model was learnt; frozen, JSON only in storage."""

from dataclasses import asdict, dataclass, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from mallowmix.errors import DataError
from mallowmix.model.fit_options import FitOptions, options_from, plain_options

ComponentsKind: TypeAlias = Literal["mallows", "bradley-terry"]
Record = TypeVar("Record")


@dataclass(frozen=True)
class SpectralTrace:
    """Intermediate results of the default method.

    Attributes
    ----------
    sampled_share : float
        The part of the users that most steps learnt from; 1 but for large data.
    spectrum : tuple of float
        The leading eigenvalues of the signed pair moment.
    noise_edge : float
        What an eigenvalue must pass to be more than noise.
    subspace_passes : int
        Passes of the subspace iteration.
    choice_of_k : str
        Why so many components, in a sentence, where the number was "auto".
    initialisation : str
        Which one was refined: "pairs", "people" or "wins".
    elbo : tuple of (str, tuple of float)
        The bound after each step of variational EM, by initialisation.
    moved : tuple of int
        Items that changed position, a number a cycle of Monte-Carlo EM; `moved_by_all` after a
        sample.
    predicted_halves : tuple of float
        Log-likelihood of one half of users' comparisons given the other, before and after each
        split-and-merge move.
    half_distances : tuple of float
        How far apart two halves of the users would put each ranking (fraction of pairs).
    optimum_distances : tuple of float
        How far from each ranking models that predict as well, from other initialisations, put it.
    score_distances : tuple of float
        How far φ and α were from the maximum of the likelihood (standard errors a parameter): after
        Monte-Carlo EM, and before each Newton step where there were any.
    """

    sampled_share: float = 1.0
    spectrum: tuple[float, ...] = ()
    noise_edge: float | None = None
    subspace_passes: int | None = None
    choice_of_k: str | None = None
    initialisation: str | None = None
    elbo: tuple[tuple[str, tuple[float, ...]], ...] = ()
    moved: tuple[int, ...] = ()
    moved_by_all: tuple[int, ...] = ()
    predicted_halves: tuple[float, ...] = ()
    half_distances: tuple[float, ...] = ()
    optimum_distances: tuple[float, ...] = ()
    score_distances: tuple[float, ...] = ()


@dataclass(frozen=True)
class ProjectionsTrace:
    """The novel pairs of Algorithm 2, best first, their solid angles, and the ζ that was used."""

    novel_pairs: tuple[tuple[str, str], ...] = ()
    solid_angles: tuple[float, ...] = ()
    zeta: float | None = None


@dataclass(frozen=True)
class UpdateOrigin:
    """The model that was updated, and the items that it did not have."""

    method: str | None = None
    seed: int | None = None
    fingerprint: str | None = None
    new_items: tuple[str, ...] = ()


@dataclass(frozen=True)
class CalibrationTrace:
    """What `calibrate` measured: log-loss per comparison, mean over users, before and after."""

    split: str
    n_users: int
    loss_before: float
    loss_after: float


@dataclass(frozen=True)
class MemberScore:
    """A member's mean log-loss on held-out users, and its weights in the pool.

    There is a weight for pairs of which the user has compared none, one or both items before.
    """

    name: str
    log_loss: float
    weights: tuple[float, float, float]


@dataclass(frozen=True)
class PredictorTrace:
    """How the predictor was chosen: log-losses on held-out training users, mean over users.

    Nobody was predicted by a member that was learnt from them, but the same users chose the members
    and their weights.

    Parameters
    ----------
    log_loss : float
        Of the pool of members, over all that was held out: pairs of which the user has compared
        none, one or both items before.
    one_ranking : float
        Of one ranking for all (Bradley–Terry scores of the other users).
    members : tuple of MemberScore
        Those that stayed.
    n_users : int
        How many users were held out.
    log_loss_new_items, one_ranking_new_items : float or None
        Of pairs of which the user has compared neither item before, the harder question; None where
        there are none.
    """

    log_loss: float
    one_ranking: float
    members: tuple[MemberScore, ...]
    n_users: int
    log_loss_new_items: float | None = None
    one_ranking_new_items: float | None = None


@dataclass(frozen=True)
class FitReport:
    """How a model was learnt.

    Attributes
    ----------
    method : str
        "spectral", "projections", "update", or the name of another system; empty for a model that
        was written down and not learnt.
    options : SpectralOptions or ProjectionsOptions
        The options of the method.
    components : {"mallows", "bradley-terry"}
        The family of the components.
    n_fits : int
        How many fits predictions are averaged over.
    seed : int
        The seed of the fit.
    n_users, n_comparisons : int, float
        How much it was learnt from.
    fingerprint : str
        A digest of the comparisons that it was learnt from.
    log_likelihood : float
        Of the data under the model, where the system computes it.
    notes : tuple of str
        Whatever limits the answer.
    unstable : tuple of int
        The components, numbered from 1, that two halves of the users, or models from other
        initialisations that predict as well, order differently (over a tenth of all pairs).
    circle_excess : float or None
        Where preferences go in a circle that no mixture of rankings fits, by how much they pass
        what one can have (`checks.preference_cycles`); None else, and for comparisons on disk.
    spectral, projections, update, calibration, predictor : records
        Intermediate results of each of these steps; None where it was not run.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.FitReport(method="spectral", seed=0).to_dict()["seed"]
    0
    """

    method: str = ""
    options: FitOptions | None = None
    components: ComponentsKind = "mallows"
    n_fits: int = 1
    seed: int | None = None
    n_users: int | None = None
    n_comparisons: float | None = None
    fingerprint: str | None = None
    log_likelihood: float | None = None
    notes: tuple[str, ...] = ()
    unstable: tuple[int, ...] = ()
    circle_excess: float | None = None
    spectral: SpectralTrace | None = None
    projections: ProjectionsTrace | None = None
    update: UpdateOrigin | None = None
    calibration: CalibrationTrace | None = None
    predictor: PredictorTrace | None = None

    def was_fitted_to(self, fingerprint: str) -> bool:
        """Whether the model was learnt from the comparisons with this fingerprint."""
        return self.fingerprint is not None and self.fingerprint == fingerprint

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values; fields that are None are left out."""
        values = _plain(asdict(self))
        if not self.unstable:
            del values["unstable"]  # files of stable models are as they were
        if self.options is not None:
            values["options"] = _plain(plain_options(self.options))
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "FitReport":
        """The report of `to_dict`; a DataError for anything else."""
        given = dict(values)
        options = given.pop("options", None)
        report = _record(cls, given, "report")
        if options is None:
            return report
        if not isinstance(options, dict):
            raise DataError(f"The report's options are {options!r}; they must be a mapping.")
        method = options.get("method")
        chosen = options_from(str(method), {k: v for k, v in options.items() if k != "method"})
        object.__setattr__(report, "options", chosen)
        return report


def _plain(value: Any) -> Any:
    """Tuples as lists, None left out of mappings."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _record(kind: type[Record], values: Any, where: str) -> Record:
    """A dataclass from plain values, every field checked against its type."""
    if not isinstance(values, dict):
        raise DataError(f"{where} is {values!r}; it must be a mapping.")
    types = get_type_hints(kind)
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise DataError(f"{where} has an entry {name!r}, which is not known.")
    return kind(**{k: _value(types[k], v, f"{where}.{k}") for k, v in values.items()})


def _value(wanted: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if NoneType in arguments:
        return None if value is None else _value(arguments[0], value, where)
    if is_dataclass(wanted):
        return _record(wanted, value, where)  # type: ignore[arg-type]
    if origin is tuple and isinstance(value, list | tuple):
        inner = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else list(arguments)
        if len(inner) == len(value):
            pairs = zip(inner, value, strict=True)
            return tuple(
                _value(kind, each, f"{where}[{n}]") for n, (kind, each) in enumerate(pairs)
            )
    if origin is Literal and value in arguments:
        return value
    if wanted is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if wanted in (int, str, bool) and type(value) is wanted:
        return value
    raise DataError(f"{where} is {value!r}, which does not fit.")
