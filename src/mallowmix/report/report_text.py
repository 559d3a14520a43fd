"""The report's sentences: numbers into plain words for lay readers."""

import math

from mallowmix.assess.contrasts import Telling
from mallowmix.assess.mixing import Archetype, Mixing
from mallowmix.assess.one_ranking_gain import AgainstOne
from mallowmix.data.text import counted as counted
from mallowmix.data.text import joined, printable
from mallowmix.report.contents import Contents

_CLEAR = 2.0  # standard errors


def rounded_percent(share: float, digits: int = 0) -> str:
    """Write 0.4213 as 42 %; what would round to nothing is written as under 1 %."""
    if digits == 0 and 0 < share < 0.005:
        return "under 1\N{NO-BREAK SPACE}%"
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def of_100(share: float) -> str:
    """How many of 100, never 0 or 100 where it is not quite."""
    number = round(100 * share)
    if number == 100 and share < 1:
        return "over 99"
    return "fewer than 1" if number == 0 and share > 0 else str(number)


def at_most(share: float) -> str:
    """A bound of so many of 100."""
    number = of_100(share)
    return number if number.startswith("fewer") else f"at most {number}"


def minus(value: float, digits: int) -> str:
    """A number with a minus sign, not a hyphen."""
    return f"{value:.{digits}f}".replace("-", "−")


def lead(found: Contents) -> str:
    """What was looked at, in a sentence or two."""
    people, made = (
        counted(found.data.n_users, "person", "people"),
        counted(found.data.n_comparisons, "choice", "choices"),
    )
    K = found.model.n_components
    many = (
        "One ranking describes them all"
        if K == 1
        else f"{K} tastes describe them, and everybody mixes them in their own way"
    )
    return f"{people} made {made} between two of {found.model.n_items:,} things. {many}."


def in_short(found: Contents) -> list[str]:
    """The findings, one sentence each."""
    parts = (_largest, _split, _common, _mix, _noise, _predict_rows, _careful)
    return [sentence for part in parts for sentence in part(found)]


def _largest(found: Contents) -> list[str]:
    rows = found.stable_rows
    if not rows:
        return [
            "No taste is stable: halves of the people, or models that predict as well, have each "
            "differently."
        ]
    row = rows[0]
    items = [printable(item) for item in row["items"]]
    tops = joined(items[:3])
    if found.model.n_components == 1:
        return [f"The one ranking has {tops} on top."]
    which = "stable taste" if found.unstable else "taste"
    return [
        f"The most common {which}, taste {row['component']}, is behind "
        f"{rounded_percent(row['share'])} of "
        f"all choices: {tops} on top."
    ]


def _split(found: Contents) -> list[str]:
    pairs = found.diagnosis.polarising_pairs
    if len(found.stable_rows) < 2 or not pairs or pairs[0].spread < 0.01:
        return []
    first = pairs[0]
    return [
        f"People split most over {printable(first.item)} and {printable(first.other)}: "
        f"{rounded_percent(first.win_rate)} of all "
        f"choices between the two go to {printable(first.item)}, but who chooses it depends "
        "on taste."
    ]


def _common(found: Contents) -> list[str]:
    if found.model.n_components == 1 or found.unstable or not found.agreed:
        return []
    pair = found.agreed[0]
    both = f"{printable(pair.winner)} over {printable(pair.loser)}"
    return [f"All tastes put {both}: in each, {of_100(pair.least)} of 100 choices or more."]


def _mix(found: Contents) -> list[str]:
    if found.model.n_components == 1:
        return []
    return [
        f"{rounded_percent(found.mixing.solo)} of the people follow one taste for two thirds or "
        "more; the "
        "others mix. "
        f"A person's strongest taste makes up {rounded_percent(found.mixing.mean_largest)} of "
        "them on "
        "average."
    ]


def _noise(found: Contents) -> list[str]:
    parts = found.diagnosis.disagreement
    if parts.variance <= 0:
        return []
    return [
        f"{rounded_percent(parts.within_component)} of all disagreement is noise: the same taste, "
        "answering "
        "differently by chance."
    ]


def _predict_rows(found: Contents) -> list[str]:
    judged = found.against_one
    if judged is None:
        return []
    who = (
        "of people it has not seen before"
        if judged.new_people
        else "that it was not shown in this test"
    )
    said = f"Of 100 choices {who}, the model predicts {100 * judged.several.accuracy:.0f} right"
    if found.model.n_components == 1:
        return [f"{said}; a coin gets 50."]
    return [f"{said}; one ranking for everybody gets {100 * judged.one.accuracy:.0f}, a coin 50."]


def _careful(found: Contents) -> list[str]:
    support, limits = found.data.support, found.data.warnings
    if support is not None and support.verdict == "no":
        return [
            "Be careful: there is too little data for so many tastes. Read the part on what it "
            "can support first."
        ]
    if _no_gain(found):
        return [
            "Be careful: several tastes predict no better than one ranking. Take them as a hint, "
            "not as a fact."
        ]
    if found.unstable:
        numbers = joined([str(k) for k in found.unstable])
        return [f"Be careful: not all tastes are stable ({numbers}). Take these as a hint."]
    if limits:
        return ["Some answers are limited by the data: see what it can and cannot support."]
    return []


def _no_gain(found: Contents) -> bool:
    """Whether tastes do not clearly predict better than one ranking for all."""
    judged = found.against_one
    return (
        found.model.n_components > 1
        and judged is not None
        and judged.right <= _CLEAR * judged.right_error
    )


def telling(pair: Telling | None, n_components: int) -> tuple[str, str, str] | None:
    """Winner, loser, and how often, here and elsewhere."""
    if pair is None:
        return None
    here = f"{of_100(pair.here)} of 100 such choices in this taste"
    where = "in the other one" if n_components == 2 else "in any other"
    return (
        printable(pair.winner),
        printable(pair.loser),
        f"{here}, {at_most(pair.elsewhere)} {where}",
    )


def steadiness(neighbours: float, any_two: float) -> str:
    """How firmly a taste is followed."""
    return (
        f"Who follows it picks the higher of two things {of_100(any_two)} times in 100, "
        f"of two neighbours {of_100(neighbours)} times."
    )


def archetype(group: Archetype) -> str:
    """Who they are."""
    if not group.components:
        return "a mix of three tastes or more"
    if len(group.components) == 1:
        return f"mostly taste {group.components[0]}"
    return f"between taste {group.components[0]} and taste {group.components[1]}"


def mixing_note(mixing: Mixing, median: float) -> str:
    """What the picture of people shows, and how sure it is."""
    few = (
        "With so few choices a person, people look more alike here than they are."
        if median < 10
        else "Where somebody made few choices, the model holds back and puts them nearer to "
        "the middle."
    )
    return (
        f"Every dot is a person; a typical one made {median:,.12g} choices. {few} Nobody is named."
    )


def judged(found: AgainstOne, n_components: int) -> list[str]:
    """How good predictions are, and whether they are as sure as they should be."""
    said = [_protocol(found)]
    if n_components > 1:
        said.append(_gain(found))
    return [*said, _calibrated(found)]


def _protocol(found: AgainstOne) -> str:
    n, people = f"{found.n_comparisons:,.12g}", counted(found.n_people, "person", "people")
    if found.new_people:
        return (
            f"The model was learnt again from two thirds of the people. Of the other {people} it "
            "was shown half of their choices, "
            f"then asked for the other half: {n} choices that it had never seen."
        )
    return (
        f"The model was shown half of the choices of {people} and asked for the other half, {n} of "
        "them. It had been learnt from "
        "these choices, so the numbers are a little too good."
    )


def _gain(found: AgainstOne) -> str:
    right, error = 100 * found.right, 100 * found.right_error
    said = f"It predicted {100 * found.several.accuracy:.1f} of 100 right"
    if right > _CLEAR * error:
        return (
            f"{said}, {right:.1f} more than one ranking for everybody, give or take "
            f"{error:.1f}: taste matters here."
        )
    if right < -_CLEAR * error:
        return (
            f"{said}; one ranking for everybody does better, by {-right:.1f}: several tastes "
            "are not borne out."
        )
    return (
        f"{said}; one ranking for everybody does as well, to the precision of this test "
        f"({error:.1f} of 100)."
    )


def _calibrated(found: AgainstOne) -> str:
    slope, error = found.reliability.slope, found.reliability.slope_error
    if math.isnan(slope):
        return "Too little was asked to say whether its probabilities are right."
    off = (slope - 1) / error if error > 0 else 0.0
    if abs(off) < _CLEAR:
        return (
            "Its probabilities can be taken at their word: what it holds to be 80 % likely "
            "happens about 80 % of the time."
        )
    if slope < 1:
        return (
            f"It is too sure of itself: its log-odds should be multiplied by {slope:.2f}. "
            "mallowmix calibrate corrects this."
        )
    return f"It is less sure than it could be: its log-odds could be multiplied by {slope:.2f}."


def chosen(found: Contents) -> list[str]:
    """What speaks for this number of tastes."""
    choice, K = found.choice, found.model.n_components
    if choice is None:
        return []
    reason = choice.reason.removeprefix(f"{choice.k}: ")
    said = reason[0].upper() + reason[1:]
    if choice.k is None:
        return [said]
    if choice.k == K:
        verdict = f"The number of tastes in this report, {K}, is the one that the data speaks for."
    else:
        verdict = f"This report has {K}; of the numbers tried, the data speaks for {choice.k}."
    sure = (
        "All signs point the same way."
        if choice.certain
        else "This is not certain: not all signs point the same way."
    )
    return [verdict, said, sure]
