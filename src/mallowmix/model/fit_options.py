"""The options of the two methods of `fit`, as frozen dataclasses."""

from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from mallowmix.errors import OptionError, check_at_least, check_choice
from mallowmix.model.method_options import method_options

MethodName: TypeAlias = Literal["spectral", "projections"]
Refine: TypeAlias = Literal["full", "short", "none"]
Corners: TypeAlias = Literal["spa", "projections", "ddp", "fast-anchor-words"]
NovelPairFinder: TypeAlias = Literal["projections", "ddp", "fast-anchor-words"]
Regression: TypeAlias = Literal["algorithm-3", "l2", "kl"]
Metric: TypeAlias = Literal["moment", "euclidean", "projected"]
Dispersion: TypeAlias = Literal["pooled", "ml", "printed"]
PAPER_ZETA = 0.05


@dataclass(frozen=True, kw_only=True)
class SpectralOptions:
    """Options of ``method="spectral"``, the default, near the statistical limit.

    Parameters
    ----------
    refine : {"full", "short", "none"}
        "none" stops at the initialisation from pairs; "short" after a few steps of variational EM
        from the better of two initialisations; "full" goes on with Monte-Carlo EM on the direct
        likelihood.
    corners : {"spa", "projections", "ddp", "fast-anchor-words"}
        How corners are found among the pairs: smoothed successive projections, random directions,
        or as other separable topic models do.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.SpectralOptions(refine="short")
    SpectralOptions(refine='short', corners='spa')
    """

    refine: Refine = "full"
    corners: Corners = "spa"
    method: ClassVar[MethodName] = "spectral"

    def __post_init__(self) -> None:
        check_choice("refine", self.refine, get_args(Refine))
        check_choice("corners", self.corners, get_args(Corners))


@dataclass(frozen=True, kw_only=True)
class ProjectionsOptions:
    """Options of ``method="projections"``, the paper's Algorithms 1 to 4.

    Parameters
    ----------
    novel_pairs : {"projections", "ddp", "fast-anchor-words"}
        "projections" is Algorithm 2; the others are DDP and FastAnchorWords instead.
    regression : {"algorithm-3", "l2", "kl"}
        Algorithm 3, or RecoverL2 or RecoverKL instead.
    n_projections : int
        The paper's P: how many random directions; 150 for each component unless given.
    zeta : float or "auto"
        The paper's ζ: how far novel pairs must lie apart to count as different; "auto" takes it
        from the distances in the data.
    tol : float
        The paper's ε: when the regression stops.
    metric : {"moment", "euclidean", "projected", "auto"}
        How the distance of rows of E is measured (`learn.paper.neighbourhoods`).
    min_count : float
        Pairs seen less often than this fraction of the median pair cannot be novel pairs.
    dispersion : {"pooled", "ml", "printed"}
        How φ is estimated (`learn.paper.components_from_topics`).

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.ProjectionsOptions(zeta="auto").n_projections is None
    True
    """

    novel_pairs: NovelPairFinder = "projections"
    regression: Regression = "algorithm-3"
    n_projections: int | None = None
    zeta: float | Literal["auto"] = PAPER_ZETA
    tol: float = 1e-4
    metric: Metric | Literal["auto"] = "moment"
    min_count: float = 0.0
    dispersion: Dispersion = "pooled"
    method: ClassVar[MethodName] = "projections"

    def __post_init__(self) -> None:
        check_choice("novel_pairs", self.novel_pairs, get_args(NovelPairFinder))
        check_choice("regression", self.regression, get_args(Regression))
        check_choice("metric", self.metric, (*get_args(Metric), "auto"))
        check_choice("dispersion", self.dispersion, get_args(Dispersion))
        check_zeta(self.zeta)
        check_at_least("n_projections", 1 if self.n_projections is None else self.n_projections, 1)


def check_zeta(zeta: object) -> None:
    """Raise an OptionError unless ζ is a number of at least 0, or "auto"."""
    number = isinstance(zeta, Real) and not isinstance(zeta, bool)
    if zeta != "auto" and not (number and zeta >= 0):  # type: ignore[operator]
        raise OptionError(option="zeta", value=zeta, expected='a number of at least 0, or "auto"')


FitOptions: TypeAlias = SpectralOptions | ProjectionsOptions
OPTIONS: dict[str, type[SpectralOptions] | type[ProjectionsOptions]] = {
    "spectral": SpectralOptions,
    "projections": ProjectionsOptions,
}


def as_options(method: str | FitOptions) -> FitOptions:
    """The default options of a method by its name; options are returned unchanged."""
    if isinstance(method, SpectralOptions | ProjectionsOptions):
        return method
    check_choice("method", method, tuple(OPTIONS))
    return OPTIONS[method]()


def options_from(method: str, values: dict[str, Any]) -> FitOptions:
    """The options of a method from values by name; an OptionError for those of the other."""
    return method_options(OPTIONS, method, values)


def plain_options(options: FitOptions) -> dict[str, Any]:
    """The options as plain values, with the name of their method."""
    return {"method": options.method, **asdict(options)}
