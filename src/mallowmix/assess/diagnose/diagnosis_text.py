"""A diagnosis in sentences."""

from typing import TYPE_CHECKING

from mallowmix.assess.diagnose.reliability_text import reliability_sentence
from mallowmix.model.names import component_title

if TYPE_CHECKING:
    from mallowmix.assess.diagnose.diagnosis_results import Diagnosis

_SOME = 0.5  # λ above this: the others follow the novel pair more than half as often
_STRONG = 1.0  # a person who moves the model by a standard error


def sentences(diagnosis: "Diagnosis") -> list[str]:
    """One sentence or two for each part."""
    parts = (
        _predicted,
        _error,
        _separable,
        _alike,
        _unsure,
        _cycle,
        _disagreement,
        _polarising,
        _people,
    )
    return [sentence for part in parts for sentence in part(diagnosis)]


def _error(diagnosis: "Diagnosis") -> list[str]:
    error = diagnosis.expected_error
    if error is None:
        return []
    worst = max(range(len(error.kendall)), key=lambda k: error.kendall[k])
    where = (
        f", most in {component_title(diagnosis.component_names, worst + 1)} "
        f"({_percent(error.kendall[worst])}),"
        if error.kendall[worst] > 0
        else ""
    )
    mean = sum(error.kendall) / len(error.kendall)
    return [
        f"Data of this size puts {_percent(mean)} of the pairs in the wrong order{where} "
        f"and is off by {error.phi:.3f} in phi and by {_percent(error.share)} in the shares "
        f"({error.n_simulations} simulations)."
    ]


def _at_most(lam: float) -> str:
    return f"at most {lam:.2f}" if lam >= 0.005 else "less than 0.01"


def _separable(diagnosis: "Diagnosis") -> list[str]:
    lam = diagnosis.separability
    if lam is None:
        return ["There is one component: nothing to tell apart."]
    count = len(diagnosis.novel_pairs)
    if lam >= 1:
        said = f"Only {count} of the components have a pair that sets them apart"
    else:
        said = f"Every component has a pair that the others follow {_at_most(lam)} times as often"
        said += ", which is far from a clear mark" if lam > _SOME else ""
    return [f"{said}; the condition number of people's weights is {diagnosis.condition:.3g}."]


def _alike(diagnosis: "Diagnosis") -> list[str]:
    names = diagnosis.component_names
    return [
        f"{component_title(names, pair.component, 'Components ')} and "
        f"{component_title(names, pair.other, '')} differ in {_percent(pair.kendall)} "
        "of the pairs only"
        + (
            ", but by more than the error to be expected."
            if pair.separated
            else ": the data cannot tell them apart."
        )
        for pair in diagnosis.alike
    ]


def _disagreement(diagnosis: "Diagnosis") -> list[str]:
    parts = diagnosis.disagreement
    return [
        f"Of all disagreement {_percent(parts.between_people)} is difference between people, "
        f"{_percent(parts.within_person)} is people who follow several components, and "
        f"{_percent(parts.within_component)} is noise within a component."
    ]


def _polarising(diagnosis: "Diagnosis") -> list[str]:
    if not diagnosis.polarising_pairs or diagnosis.polarising_pairs[0].spread == 0:
        return []
    pair, items = diagnosis.polarising_pairs[0], diagnosis.polarising_items
    return [
        f"People differ most on {pair.item} against {pair.other}: {_percent(pair.win_rate)} prefer "
        f"the first, give or take {_percent(pair.spread)} from person to person. "
        f"The most polarising items: {', '.join(item.item for item in items[:3])}."
    ]


def _predicted(diagnosis: "Diagnosis") -> list[str]:
    found = diagnosis.predictions
    if found is None:
        return ["Nothing was held out to judge predicted probabilities by."]
    likely = f"{found.several.log_likelihood:.4f} per comparison"
    right = f"{_percent(found.several.accuracy)} right"
    one = (
        f", against {found.one.log_likelihood:.4f} and {_percent(found.one.accuracy)} of one "
        f"ranking for all ({found.gain:+.4f}, give or take {found.gain_error:.4f})"
    )
    several = found.several.log_likelihood != found.one.log_likelihood
    said = [
        f"Its components predict {found.n_comparisons:,.12g} comparisons of {found.n_people:,} "
        f"people: {likely}, {right}{one if several else ''}.",
        f"Measured on {found.scored_on}.",
    ]
    if found.scored_on.seen:
        said.append("It has seen these answers: new people are predicted less well.")
    slope = f"a slope of {found.reliability.slope:.2f}, give or take "
    return [
        *said,
        f"{reliability_sentence(found.reliability)[:-1]}; "
        f"{slope}{found.reliability.slope_error:.2f}.",
    ]


def _unsure(diagnosis: "Diagnosis") -> list[str]:
    return [found.sentence(diagnosis.component_names) for found in diagnosis.unsure]


def _cycle(diagnosis: "Diagnosis") -> list[str]:
    if diagnosis.cycle is None:
        return []
    rates = ", ".join(f"{100 * rate:.0f}" for rate in diagnosis.cycle_rates)
    short = diagnosis.cycle.unexplained(diagnosis.cycle_rates)
    said = f"The model gives them {rates} of 100{', which falls short' if short else ''}."
    return [f"{diagnosis.cycle.sentence()} {said}"]


def _people(diagnosis: "Diagnosis") -> list[str]:
    said = [
        f"The busiest tenth of the people made {_percent(diagnosis.activity.busiest_tenth)} "
        f"of the comparisons; the median is {diagnosis.activity.median:,.12g}, "
        f"the most {diagnosis.activity.most:,.12g}."
    ]
    strong = [person for person in diagnosis.influential if person.standard_errors >= _STRONG]
    if strong:
        named = ", ".join(f"{person.user} ({person.standard_errors:.1f})" for person in strong)
        said.append(f"Without them the model would differ by a standard error or more: {named}.")
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
