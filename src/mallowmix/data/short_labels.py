"""Labels cut to a few letters, never two of them to the same text."""

from collections import Counter
from collections.abc import Iterable

from mallowmix.data.text import printable

_MORE = 8  # letters that labels keep beyond the others for as long as they look the same


def short_labels(labels: Iterable[object], letters: int) -> list[str]:
    """Labels of about so many letters; those that would be cut to the same text keep more.

    Parameters
    ----------
    labels : labels
        All different.
    letters : int
        The most letters of a label, but for those that need more to differ.

    Returns
    -------
    list of str

    Examples
    --------
    >>> short_labels(["tea", "a long story, part 1", "a long story, part 2"], 10)
    ['tea', 'a lon…rt 1', 'a lon…rt 2']
    """
    texts = [printable(label) for label in labels]
    shown = [text if len(text) <= letters else f"{text[: letters - 1]}…" for text in texts]
    for most in range(letters, max(map(len, texts), default=0) + _MORE, _MORE):
        times = Counter(shown)
        if len(times) == len(shown):
            break
        shown = [
            _without_middle(text, most) if times[cut] > 1 else cut
            for text, cut in zip(texts, shown, strict=True)
        ]
    return shown


def _without_middle(text: str, letters: int) -> str:
    """The begin and the end of a label that is too long."""
    end = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[: letters - 1 - end]}…{text[-end:]}"
