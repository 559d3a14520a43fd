"""User weights: how much each user counts when a model is learnt."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.labels import Labels, text_of
from mallowmix.errors import DataError, Option


def weights_in_order(user_weight: Mapping[Any, float], users: Labels) -> list[float]:
    """The weights of a mapping from labels, in the order of `users`; each must have one."""
    if not isinstance(user_weight, Mapping):
        raise DataError(
            Option("user_weight"),
            f" is a {type(user_weight).__name__}; give a mapping from each user to a number.",
        )
    by_text = {str(name): weight for name, weight in user_weight.items()}
    lacking = [text for text in text_of(users) if text not in by_text]
    if lacking:
        others = f" (and {len(lacking) - 1:,} more like it)" if len(lacking) > 1 else ""
        raise DataError(
            Option("user_weight"),
            f" has no entry for user {lacking[0]!r}{others}. "
            "Give every user a number, 1 for the usual.",
        )
    return [by_text[text] for text in text_of(users)]


def checked_user_weight(user_weight: ArrayLike | None, users: Labels) -> NDArray[np.float64]:
    """(M,) finite weights of at least 0, one for each user; ones where none are given."""
    try:
        weights = np.ones(len(users)) if user_weight is None else np.array(user_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            Option("user_weight"),
            " holds something that is not a number. Give every user a finite number of at least 0.",
        ) from None
    if weights.shape != users.shape:
        raise DataError(
            Option("user_weight"),
            f" has the shape {weights.shape} for {len(users)} users; "
            "there must be one number each.",
        )
    for m in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:1]:
        raise DataError(
            Option("user_weight"),
            f" of user {users.tolist()[m]!r} is {weights[m]:g}; "
            "it must be a finite number of at least 0.",
        )
    return weights
