"""The report's sentences about predictions and the number of tastes."""

from mallowmix.assess.diagnose.reliability_text import reliability_sentence
from mallowmix.assess.one_ranking_gain import CLEAR, LEAST_PEOPLE, AgainstOne
from mallowmix.data.text import counted
from mallowmix.infer.heldout.scored_on import Questions, ScoredPeople
from mallowmix.model.fitted_model import as_fitted
from mallowmix.report.contents import Contents
from mallowmix.report.report_text import in_tastes, minus


def judged(found: AgainstOne, n_components: int) -> list[str]:
    """How good predictions are, on whom and what, and whether probabilities come true."""
    said = [_protocol(found, n_components), _asked(found)]
    if n_components > 1:
        said.append(_gain(found))
    return [*said, reliability_sentence(found.reliability)]


def predictor(found: Contents) -> str:
    """What the model's predictor did with held-out people when it was learnt; nothing without one.

    It says why `fit` printed another number than this page, and on whom that was measured.
    """
    trace = as_fitted(found.model).report.predictor
    if trace is None:
        return ""
    beyond = "tastes" if found.model.n_components > 1 else "ranking"
    pool, one = trace.log_loss_new_items, trace.one_ranking_new_items
    known = "between two things on which it knew no other choice of theirs"
    if pool is None or one is None:
        pool, one = trace.log_loss, trace.one_ranking
        known = "also between things on which it knew other choices of theirs"
    how = "better" if pool < one else "no better"
    return (
        "The model also has a predictor, which learns from a person's choices beyond the "
        f"{beyond}. When it was learnt, it predicted held-out people {how} than one ranking for "
        f"everybody, {known} (log-likelihood per choice {minus(-pool, 3)} against "
        f"{minus(-one, 3)}; other choices than those above, by which its parts were chosen too)."
    )


def _protocol(found: AgainstOne, n_components: int) -> str:
    people, n = counted(found.n_people, "person", "people"), f"{found.n_comparisons:,.12g}"
    what = "tastes" if n_components > 1 else "ranking"
    asked = f"{n} choices of {people} were predicted, by the {what} alone."
    who = found.scored_on.people
    if who == ScoredPeople.NEW:
        return (
            f"{asked} The model was learnt again from two thirds of the people and asked about the "
            "others, whom it had never seen; of each it was shown a part of their choices."
        )
    if who == ScoredPeople.FITTED:
        return (
            f"{asked} It had been learnt from these very choices, so the numbers are too good: how "
            f"it does with new people takes {LEAST_PEOPLE} people or more and learning it again."
        )
    if who == ScoredPeople.HELD_OUT:
        return f"{asked} It had been learnt from other choices of the same people."
    return (
        f"{asked} Whether it had been learnt from these people is not known; if so, the numbers "
        "are too good."
    )


def _asked(found: AgainstOne) -> str:
    questions = found.scored_on.questions
    if questions == Questions.ITEMS:
        return (
            "Of both things in every such choice it was shown no other choice of the person. That "
            "is the harder question: in a ranking, much of what is left follows from what is shown."
        )
    if questions == Questions.TOUCHING:
        return (
            "Of one of the two things, at least, it was shown no other choice of the person: that "
            "is the harder question."
        )
    return (
        "Of most things in these choices it was shown other choices of the person, which is the "
        "easier question."
    )


def _gain(found: AgainstOne) -> str:
    right, error = 100 * found.right, 100 * found.right_error
    said = f"It predicted {100 * found.several.accuracy:.1f} of 100 right"
    likely = (
        f"log-likelihood {minus(found.several.log_likelihood, 4)} against "
        f"{minus(found.one.log_likelihood, 4)} of one ranking for everybody, a difference of "
        f"{minus(found.gain, 4)}, give or take {found.gain_error:.4f}"
    )
    more = f"{right:.1f} more than one ranking for everybody, give or take {error:.1f}"
    if found.unclear and right > 0:
        return f"{said}, {more}. With how sure it was, that may be chance ({likely})."
    if found.better:
        return f"{said}, {more}: taste matters here ({likely})."
    if found.gain < -CLEAR * found.gain_error:
        return f"{said}, but one ranking does better: several tastes are not borne out ({likely})."
    return f"{said}; one ranking does as well, to the precision of this test ({likely})."


def chosen(found: Contents) -> list[str]:
    """What speaks for this number of tastes."""
    choice, K = found.choice, found.model.n_components
    if choice is None:
        return []
    reason = choice.reason.removeprefix(f"{choice.k}: ")
    said = in_tastes(reason[0].upper() + reason[1:])
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
