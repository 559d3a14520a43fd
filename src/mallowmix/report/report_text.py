"""The report's sentences: numbers into plain words for lay readers."""

from mallowmix.assess.contrasts import Contrast
from mallowmix.assess.mixing import Archetype
from mallowmix.assess.one_ranking_gain import CLEAR
from mallowmix.data.text import counted as counted
from mallowmix.data.text import joined, printable
from mallowmix.infer.heldout.scored_on import Questions, ScoredPeople
from mallowmix.model.fitted_model import AnyModel, names_in
from mallowmix.model.names import component_title
from mallowmix.report.contents import Contents


def rounded_percent(share: float, digits: int = 0) -> str:
    """Write 0.4213 as 42 %; what would round to nothing is written as under 1 %."""
    if digits == 0 and share > 0 and round(100 * share) == 0:
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


def no_fewer_than(share: float) -> str:
    """A bound of so many of 100, from below."""
    number = of_100(share)
    return number if number.startswith("over") else f"at least {number}"


def minus(value: float, digits: int) -> str:
    """A number with a minus sign, not a hyphen."""
    return f"{value:.{digits}f}".replace("-", "−")


def in_tastes(sentence: str) -> str:
    """A sentence of the library, which holds no label, in the words of the report."""
    for ours, theirs in (("component", "taste"), ("comparison", "choice"), (" -0.", " −0.")):
        sentence = sentence.replace(ours, theirs)
    return sentence


def headline(found: Contents) -> str:
    """What a reader must know first, in one line."""
    K, judged = found.model.n_components, found.against_one
    if K == 1:
        other = None if found.choice is None else found.choice.k
        speaks = "speaks" if found.choice is not None and found.choice.certain else "may speak"
        more = f"; the data {speaks} for {other} tastes" if other and other > 1 else ""
        return f"One ranking for everybody{more}"
    if judged is None:
        return f"{K} tastes; whether they predict better than one ranking is not known"
    if found.better:
        sure = K - len(found.unsure)
        if not sure:
            return f"{K} tastes predict people better than one ranking, but none of them is sure"
        some = "" if sure == K else f" ({sure} of them sure)"
        return f"{K} tastes{some}, and everybody mixes them in their own way"
    if judged.unclear:
        return f"{K} tastes; that they predict people better than one ranking is not shown"
    how = "better than" if judged.gain < -CLEAR * judged.gain_error else "as well as"
    return f"One ranking for everybody predicts people {how} {K} tastes"


def taste(model: AnyModel, component: int) -> str:
    """A component (numbered from 1) in a sentence, with its name: taste 2 (spicy)."""
    if model.n_components == 1 and not any(names_in(model)):
        return "the one ranking"
    return printable(component_title(names_in(model), component, "taste "))


def in_short(found: Contents) -> list[str]:
    """The findings, one sentence each; what limits all the others comes first."""
    parts = (_on_top, _largest, _split, _common, _mix, _noise, _predict_rows)
    said = [sentence for part in parts for sentence in part(found)]
    careful = _careful(found)
    return [*careful, *said] if careful and careful[0].startswith("Be careful") else said + careful


def _on_top(found: Contents) -> list[str]:
    """The population's best, where one ranking says as much as several tastes."""
    if not found.no_gain:
        return []
    tops = joined([printable(item) for item in found.leaderboard.items[:3].tolist()])
    return [f"Over everybody, {tops} win most often."]


def _largest(found: Contents) -> list[str]:
    if found.no_gain:
        return []
    rows, unsure = found.model.table(), found.unsure
    sure = [row for row in rows if row["component"] not in unsure]
    row = sure[0] if sure else rows[0]
    tops = joined([printable(item) for item in row["items"][:3]])
    if found.model.n_components == 1:
        return [
            "The one ranking is unsure: see below why."
            if unsure
            else f"The one ranking has {tops} on top."
        ]
    if not sure:
        return [
            "None of the tastes is sure: see at each what is in doubt. Read their rankings as a "
            "sketch."
        ]
    which = "The most common taste" if row is rows[0] else "The most common taste that is sure"
    share = rounded_percent(row["share"])
    if any(rounded_percent(each["share"]) == share for each in rows if each is not row):
        which = "One of the most common tastes"  # as far as a reader can tell
    return [
        f"{which}, {taste(found.model, row['component'])}, is behind "
        f"{share} of all choices: {tops} on top."
    ]


def _split(found: Contents) -> list[str]:
    pairs = found.diagnosis.polarising_pairs
    if found.model.n_components == 1 or not pairs or pairs[0].spread < 0.01:
        return []
    if not found.better or len(found.unsure) > found.model.n_components - 2:
        return []  # tastes that predict no better than one ranking say little about who differs
    first = pairs[0]
    return [
        f"People split most over {printable(first.item)} and {printable(first.other)}: "
        f"{rounded_percent(first.win_rate)} of all "
        f"choices between the two go to {printable(first.item)}, but who chooses it depends "
        "on taste."
    ]


def _common(found: Contents) -> list[str]:
    K = found.model.n_components
    if K == 1 or not found.agreed or found.unsure:
        return []
    pair = found.agreed[0]
    both = f"{printable(pair.winner)} over {printable(pair.loser)}"
    return [f"All tastes put {both}: in each, {no_fewer_than(pair.least)} of 100 choices."]


def _mix(found: Contents) -> list[str]:
    K = found.model.n_components
    if K == 1 or len(found.unsure) == K or found.no_gain:
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
    if parts.variance <= 0 or found.model.n_components == 1:  # of one taste, all of it is
        return []
    # then tastes, and what they leave over, are a hint
    if found.no_gain or len(found.unsure) == found.model.n_components:
        return []
    return [
        f"Of all disagreement, {rounded_percent(parts.within_component)} is noise: the same taste, "
        "answering differently by chance."
    ]


def _predict_rows(found: Contents) -> list[str]:
    judged = found.against_one
    if judged is None:
        return []
    said = (
        f"Of 100 choices {whose(judged.scored_on.people)}{about(judged.scored_on.questions)}, the "
        f"model predicts {100 * judged.several.accuracy:.0f} right"
    )
    if found.model.n_components == 1:
        return [f"{said}; a coin gets 50."]
    return [f"{said}; one ranking for everybody gets {100 * judged.one.accuracy:.0f}, a coin 50."]


def whose(people: ScoredPeople) -> str:
    """Whose choices were predicted."""
    return {
        ScoredPeople.NEW: "of people it has not seen before",
        ScoredPeople.FITTED: "that it was learnt from",
        ScoredPeople.HELD_OUT: "that it has not seen, of people it has",
        ScoredPeople.OTHER: "of other data than it was learnt from",
        ScoredPeople.UNKNOWN: "that it may have been learnt from",
    }[people]


def about(questions: Questions) -> str:
    """What they were about."""
    return {
        Questions.ITEMS: ", each between two things on which it knew no other choice of theirs",
        Questions.TOUCHING: ", each with a thing on which it knew no other choice of theirs",
    }.get(questions, "")


def _careful(found: Contents) -> list[str]:
    support, limits = found.data.support, found.data.warnings
    if support is not None and support.verdict == "no":
        return [
            "Be careful: there is too little data for so many tastes. Read the part on what it "
            "can support first."
        ]
    if found.no_gain:
        no_better = "these tastes predict no better than one ranking for everybody"
        if found.against_one is not None and found.against_one.unclear:
            no_better = "that these tastes predict better than one ranking may be chance"
        return [
            f"Be careful: {no_better}. Take the leaderboard for the result, and the tastes as a "
            "hint, not as a fact."
        ]
    if found.unsure and found.model.n_components > 1:
        names = joined([taste(found.model, k) for k in found.unsure])
        return [f"Be careful: not all tastes are sure. Take {names} as a hint."]
    if limits:
        return ["Some answers are limited by the data: see what it can and cannot support."]
    return []


def hint(found: Contents) -> str:
    """What makes a part about the differences of tastes less than a fact; empty if nothing does."""
    if found.no_gain and found.against_one is not None:
        if found.against_one.unclear:
            why = "That these tastes predict better than one ranking for everybody may be chance"
        else:
            why = "One ranking for everybody predicts as well as these tastes"
        return f"{why}: read this part as a hint, not as a fact."
    if not found.unsure:
        return ""
    names = joined([taste(found.model, k) for k in found.unsure])
    be, whom = ("are", "them") if len(found.unsure) > 1 else ("is", "it")
    unsure = f"{names[0].upper()}{names[1:]} {be} unsure"
    return f"{unsure}: read what this part says of {whom} as a hint, not as a fact."


def telling(found: Contrast, n_components: int, *, better: bool) -> tuple[str, str, str] | None:
    """Winner, loser, and bounds of how often; None where the data does not bear it out."""
    pair = found.telling
    if pair is None or not (better and found.clear):
        return None
    here = f"at least {round(100 * found.here_low)} of 100 such choices in this taste"
    where = "in the other one" if n_components == 2 else "in any other"
    return (
        printable(pair.winner),
        printable(pair.loser),
        f"{here}, {at_most(found.elsewhere_high)} {where}",
    )


def differing(found: Contrast, *, better: bool) -> str:
    """Weaker words: the things that a taste puts elsewhere than the others."""
    if not found.items:
        return "No single choice tells this taste from the others."
    said = f"It puts {joined([printable(item) for item in found.items])} most unlike the others"
    return f"{said}." if better else f"{said}; whether people really differ so is not borne out."


def steadiness(neighbours: float, any_two: float) -> str:
    """How firmly a taste is followed."""
    return (
        f"Who follows it picks the higher of two things {of_100(any_two)} times in 100, "
        f"of two neighbours {of_100(neighbours)} times."
    )


def archetype(model: AnyModel, group: Archetype) -> str:
    """Who they are."""
    if not group.components:
        return "a mix of three tastes or more"
    if len(group.components) == 1:
        return f"mostly {taste(model, group.components[0])}"
    return f"between {joined([taste(model, k) for k in group.components])}"


def mixing_note(found: Contents, median: float) -> str:
    """What the picture of people shows, and how sure it is."""
    shown = "Bars count people" if found.model.n_components == 2 else "Every dot is a person"
    ranked = found.comparisons.ranking_id is not None
    made = "decided {} pairs" if ranked else "made {} choices"
    few = (
        "With so few choices a person, people look more alike here than they are."
        if median < 10
        else "Where somebody made few choices, the model holds back and puts them nearer to "
        "the middle."
    )
    typical = f"a typical person {made.format(f'{median:,.12g}')}"
    return f"{shown}; {typical}. {few} Nobody is named."
