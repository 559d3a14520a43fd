"""Whether a model's probabilities come true, in a sentence."""

from mallowmix.assess.diagnose.reliability import SAID, Reliability


def reliability_sentence(found: Reliability) -> str:
    """Say whether probabilities can be taken at their word, or how far off they are.

    Parameters
    ----------
    found : Reliability

    Returns
    -------
    str
        The same in the report and in a diagnosis.
    """
    verdict = found.verdict
    if verdict == "unclear" and not found.slope_error < float("inf"):
        return "Too little was held out to say whether its probabilities are right."
    said = f"when it says {100 * SAID:.0f} of 100, it is {_ranged(*found.at())}"
    if verdict == "calibrated":
        return f"Its probabilities can be taken at their word: {said}."
    if verdict == "overconfident":
        return f"It is too sure of itself: {said}."
    if verdict == "underconfident":
        return f"It is less sure than it could be: {said}."
    worst = found.worst
    if verdict == "uneven" and worst is not None:
        off = f"when it says {100 * worst.predicted:.0f} of 100, it is "
        off += _ranged(worst.observed, worst.low, worst.high)
        return f"Its probabilities are right on average, but not everywhere: {off}."
    return f"Too little was held out to say whether its probabilities are right: {said}."


def _ranged(value: float, low: float, high: float) -> str:
    return f"{100 * value:.0f} ({100 * low:.0f} to {100 * high:.0f})"
