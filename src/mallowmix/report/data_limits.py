"""What the data can and cannot support: two lists of sentences."""

import math

import numpy as np

from mallowmix.data.text import printable
from mallowmix.learn.spectral.fit_notes import spectrum_note
from mallowmix.model.fitted_model import as_fitted
from mallowmix.report.contents import Contents
from mallowmix.report.report_text import in_tastes, rounded_percent, taste

_GOOD, _POOR = 0.02, 0.1  # fractions of pairs in the wrong order
_STRONG = 1.0  # standard errors by which one person moves a model
_ALWAYS = (
    "It describes the people who were asked, and the things that they were asked about. Others "
    "may differ.",
    "A taste is a pattern in choices. Why people choose so, it does not say.",
    "A person's mixture is an estimate: fair for a crowd, rough for one person who made few "
    "choices.",
)


def can(found: Contents) -> list[str]:
    """What holds."""
    return [
        *_enough(found),
        *_certain(found, good=True),
        *_error(found, good=True),
        *_apart(found, good=True),
    ]


def cannot(found: Contents) -> list[str]:
    """What does not, or only so far."""
    return [
        *_short(found),
        *_warnings(found),
        *_cycle(found),
        *_unsure(found),
        *_spectrum(found),
        *_certain(found, good=False),
        *_uncertain(found),
        *_error(found, good=False),
        *_apart(found, good=False),
        *_influence(found),
        *_ALWAYS,
    ]


def _enough(found: Contents) -> list[str]:
    support = found.data.support
    return [in_tastes(said) for said in support.sentences if ": enough" in said] if support else []


def _short(found: Contents) -> list[str]:
    support = found.data.support
    if support is None:
        return []
    return [in_tastes(said) for said in support.sentences if ": enough" not in said]


def _warnings(found: Contents) -> list[str]:
    """Return the warnings, without the verdict on K, which is stated elsewhere."""
    return [
        said_plainly(printable(said))
        for said in found.data.warnings
        if not said.startswith("This data ")
    ]


def said_plainly(sentence: str) -> str:
    """A warning in the words of the report; one that names something in quotes as it is."""
    if "'" in sentence:
        return sentence
    for ours, theirs in (("1 user ", "1 person "), (" users", " people"), (" moments", " fit")):
        sentence = sentence.replace(ours, theirs)
    return in_tastes(sentence)


def _cycle(found: Contents) -> list[str]:
    """A circle of preferences that the model misses; one that no mixture fits is a warning."""
    cycle, rates = found.diagnosis.cycle, found.diagnosis.cycle_rates
    if cycle is None or cycle.beyond_mixtures or not cycle.unexplained(rates):
        return []
    return [cycle.sentence()]


def _unsure(found: Contents) -> list[str]:
    """Name the components that are not to be relied on."""
    return [
        f"{_begin(taste(found.model, number))} is unsure: {'; '.join(reasons)}."
        for number, reasons in found.unsure.items()
    ]


def _begin(words: str) -> str:
    """The same with a capital, for the begin of a sentence."""
    return words[0].upper() + words[1:]


def _spectrum(found: Contents) -> list[str]:
    """Say whether the spectrum shows so many components, where the fit looked."""
    trace = as_fitted(found.model).report.spectral
    if trace is None or trace.noise_edge is None or found.model.n_components == 1:
        return []
    note = spectrum_note(np.array(trace.spectrum), trace.noise_edge, found.model.n_components)
    return [] if note is None else [in_tastes(note)]


def _certain(found: Contents, *, good: bool) -> list[str]:
    """Say how many positions are certain; good where most are, to within two."""
    sure = found.intervals
    if sure is None:
        return []
    widths = (sure.position_high - sure.position_low)[_sure(found)]
    if not len(widths) or good != bool((widths <= 2).mean() >= 0.5):
        return []
    if not widths.any():
        return [
            f"Every place in every taste{' that is sure' if found.unsure else ''} is certain, at a "
            f"level of {rounded_percent(sure.level)}."
        ]
    which = "" if not found.unsure else " in the tastes that are sure"
    certain, near = (rounded_percent(float((widths <= most).mean())) for most in (0, 2))
    return [
        f"{certain} of all places{which} are certain, {near} known to within two places, at a "
        f"level of {rounded_percent(sure.level)}."
    ]


def _sure(found: Contents) -> list[int]:
    """The components, from 0, that are not unsure."""
    return [k for k in range(found.model.n_components) if k + 1 not in found.unsure]


def _uncertain(found: Contents) -> list[str]:
    """Name the least certain position."""
    sure = found.intervals
    if sure is None:
        return ["No intervals were asked for: how sure the places and shares are is not said here."]
    widths = sure.position_high - sure.position_low
    if widths.max() < max(3, found.model.n_items // 4):
        return []
    k, i = divmod(int(widths.argmax()), found.model.n_items)
    low, high = int(sure.position_low[k, i]) + 1, int(sure.position_high[k, i]) + 1
    return [
        f"Some places are open: that of {printable(sure.items[i])} in "
        f"{taste(found.model, k + 1)} may be "
        f"anything from {low} to {high}."
    ]


def _error(found: Contents, *, good: bool) -> list[str]:
    error = found.diagnosis.expected_error
    if error is None:
        return []
    worst = max(range(len(error.kendall)), key=lambda k: error.kendall[k])
    wrong = error.kendall[worst]
    if good and wrong == 0:
        return [
            "In simulated data of this size, no two things came out in the wrong order in "
            "any taste."
        ]
    if good and wrong <= _GOOD:
        return [
            f"In simulated data of this size, at most {rounded_percent(wrong, 1)} of the pairs "
            "of things "
            "came out in the wrong order."
        ]
    if not good and wrong > _GOOD:
        how = "rough" if wrong > _POOR else "good but not exact"
        said = (
            f"In simulated data of this size, {rounded_percent(wrong, 1)} of the pairs came "
            "out in the "
            f"wrong order in {taste(found.model, worst + 1)}"
        )
        return [f"{said}: its ranking is {how}."]
    return []


def _apart(found: Contents, *, good: bool) -> list[str]:
    alike = [pair for pair in found.diagnosis.alike if not pair.separated]
    if found.model.n_components == 1:
        return []
    if good:
        return (
            []
            if alike
            else ["The tastes differ by more than the expected error: they can be distinguished."]
        )
    pairs = [
        f"{taste(found.model, pair.component)} and {taste(found.model, pair.other)}"
        for pair in alike
    ]
    return (
        [f"These tastes are too alike to be distinguished with this data: {'; '.join(pairs)}."]
        if pairs
        else []
    )


def _influence(found: Contents) -> list[str]:
    strong = sum(person.standard_errors >= _STRONG for person in found.diagnosis.influential)
    said = []
    if strong:
        who = "One person moves" if strong == 1 else f"At least {strong} people each move"
        said.append(f"{who} the result by a standard error or more.")
    busiest = found.diagnosis.activity.busiest_tenth
    if math.isfinite(busiest) and busiest > 0.3:
        said.append(
            f"The busiest tenth of the people made {rounded_percent(busiest)} of the choices: "
            "the result "
            "is more theirs than others'."
        )
    return said
