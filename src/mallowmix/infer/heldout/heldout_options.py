"""The options of the three methods of `heldout`, as frozen dataclasses."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from mallowmix.data.splits import HeldOutBy, check_given
from mallowmix.errors import Option, OptionError, check_at_least, check_choice, check_count
from mallowmix.model.method_options import method_options

HeldoutMethod: TypeAlias = Literal["left-to-right", "importance", "completion"]
ParticleForm: TypeAlias = Literal["filter", "mean-of-products", "product-of-means"]


@dataclass(frozen=True, kw_only=True)
class LeftToRightOptions:
    """Options of "left-to-right": a user's comparisons one after the other, by a particle filter.

    Parameters
    ----------
    form : {"filter", "mean-of-products", "product-of-means"}
        "filter" resamples particles as it goes, so that its cost grows no faster than the
        comparisons do; "mean-of-products" is unbiased, but its noise grows with the number of
        comparisons; "product-of-means" is what topic-model software often computes, the
        product over comparisons of plain means over particles: too high or too low by an amount
        that no number of particles removes.
    n_particles : int
        How many particles to begin with.
    max_particles : int
        Two independent runs are made and their probabilities averaged; both are repeated with
        twice the particles, up to so many (1,024 unless given, more for fewer than 4,096
        comparisons), until they agree.
    tol : float
        When they do: the runs differ by less than `tol` a comparison, and so does the mean of
        logarithms from the logarithm of the mean (the noise of a user's run lowers its logarithm,
        which adds up over users though the differences cancel).
    n_moves : int
        Gibbs moves of randomly chosen earlier components, so many for each comparison.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.LeftToRightOptions(n_particles=64).form
    'filter'
    """

    form: ParticleForm = "filter"
    n_particles: int = 32
    max_particles: int | None = None
    tol: float = 1e-3
    n_moves: int = 2
    method: ClassVar[HeldoutMethod] = "left-to-right"

    def __post_init__(self) -> None:
        check_choice("form", self.form, get_args(ParticleForm))
        check_count("n_particles", self.n_particles, 1)
        if self.max_particles is not None and not self.max_particles >= self.n_particles:
            raise OptionError(
                option="max_particles",
                value=self.max_particles,
                expected=f"at least {self.n_particles}",
                hint=("Raise it, or lower ", Option("n_particles"), "."),
            )
        if not self.tol > 0:
            raise OptionError(option="tol", value=self.tol, expected="above 0")
        check_count("n_moves", self.n_moves, 0)


@dataclass(frozen=True, kw_only=True)
class ImportanceOptions:
    """Options of "importance": all of a user's comparisons together, by draws of their weights.

    Parameters
    ----------
    n_draws, max_draws, min_ess : int, int, float
        A user's draws are doubled until they are worth `min_ess` independent ones, (Σw)² / Σw²,
        or there are `max_draws`; a user who does not reach that is annealed
        (`infer.heldout.annealing`).
    n_particles : int
        Of each of the two annealings of such a user, whose probabilities are averaged.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.ImportanceOptions(n_draws=500).max_draws
    16000
    """

    n_draws: int = 2000
    max_draws: int = 16_000
    min_ess: float = 100
    n_particles: int = 128
    method: ClassVar[HeldoutMethod] = "importance"

    def __post_init__(self) -> None:
        check_count("n_draws", self.n_draws, 4)
        check_count("max_draws", self.max_draws, self.n_draws)
        check_at_least("min_ess", self.min_ess, 1)
        check_count("n_particles", self.n_particles, 2)


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """Options of "completion": part of a user's comparisons predicted from the rest.

    Parameters
    ----------
    given : float
        The part that the model is given, at least 0 and below 1.
    split : {"comparisons", "items", "touching"}
        "comparisons" holds out single comparisons at random; "items" holds out items, gives the
        comparisons among the others and predicts those among the held-out ones, so that no item
        of a prediction was given; "touching" also predicts those of a held-out item with another.

    Examples
    --------
    >>> import mallowmix as mm
    >>> mm.CompletionOptions(split="items")
    CompletionOptions(given=0.5, split='items')
    """

    given: float = 0.5
    split: HeldOutBy = "comparisons"
    method: ClassVar[HeldoutMethod] = "completion"

    def __post_init__(self) -> None:
        check_choice("split", self.split, get_args(HeldOutBy))
        check_given(self.given)


HeldoutOptions: TypeAlias = LeftToRightOptions | ImportanceOptions | CompletionOptions
OPTIONS: dict[str, type[HeldoutOptions]] = {
    kind.method: kind for kind in (LeftToRightOptions, ImportanceOptions, CompletionOptions)
}


def as_heldout_options(method: HeldoutMethod | HeldoutOptions) -> HeldoutOptions:
    """The default options of a method by its name; options are returned unchanged."""
    if isinstance(method, LeftToRightOptions | ImportanceOptions | CompletionOptions):
        return method
    check_choice("method", method, tuple(OPTIONS))
    return OPTIONS[method]()


def heldout_options_from(method: str, values: dict[str, Any]) -> HeldoutOptions:
    """The options of a method from values by name; an OptionError for those of another."""
    return method_options(OPTIONS, method, values)
