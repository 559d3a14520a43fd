"""PrefLib's text: a header, then each different order with its number of voters, most first."""

from collections import Counter

import numpy as np

from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError


def preflib_text(rankings: Rankings, name: str = "profile.soc", title: str = "") -> str:
    """Return rankings as the text of a PrefLib file.

    Parameters
    ----------
    rankings : Rankings
    name : str
        The file's name; its ending must be one that can hold the rankings (.toi holds any).
    title : str
        The title in the header; the name unless given.

    Returns
    -------
    str
    """
    kind = name.lower()[-3:]
    fitting = kinds_of(rankings)
    if kind not in fitting:
        raise DataError(
            f"{name}: these rankings are {_what(rankings)}; use the ending "
            f"{' or '.join('.' + each for each in fitting)}."
        )
    orders = _orders(rankings)
    head = {
        "FILE NAME": name,
        "TITLE": title or name,
        "DATA TYPE": kind,
        "NUMBER ALTERNATIVES": rankings.n_items,
        "NUMBER VOTERS": sum(orders.values()),
        "NUMBER UNIQUE ORDERS": len(orders),
    }
    lines = [f"# {key}: {value}" for key, value in head.items()]
    lines += [
        f"# ALTERNATIVE NAME {n}: {_one_line(text)}"
        for n, text in enumerate(text_of(rankings.items), start=1)
    ]
    lines += [
        f"{count}: {order}"
        for order, count in sorted(orders.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return "\n".join(lines) + "\n"


def kinds_of(rankings: Rankings) -> list[str]:
    """Return which of soc, soi, toc and toi can hold the rankings, the narrowest first."""
    complete = bool(np.all(rankings.lengths == rankings.n_items))
    kinds = {
        "soc": complete and not rankings.has_ties,
        "soi": not rankings.has_ties,
        "toc": complete,
        "toi": True,
    }
    return [kind for kind, fits in kinds.items() if fits]


def _what(rankings: Rankings) -> str:
    return (
        f"{'with' if rankings.has_ties else 'without'} ties, "
        f"{'complete' if 'toc' in kinds_of(rankings) else 'incomplete'}"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _orders(rankings: Rankings) -> dict[str, int]:
    """Count the voters of each order; a weight must be a whole number of voters."""
    weight = rankings.weight * rankings.user_weight[rankings.user]
    if np.any(weight != np.floor(weight)):
        raise DataError("A ranking has a weight that is not whole: PrefLib counts voters.")
    orders: Counter[str] = Counter()
    for n in range(len(rankings)):
        rows = slice(rankings.starts[n], rankings.starts[n + 1])
        orders[_written(rankings.item[rows] + 1, rankings.position[rows])] += int(weight[n])
    return dict(orders)


def _written(items: np.ndarray, positions: np.ndarray) -> str:
    groups = np.split(items, np.flatnonzero(np.diff(positions)) + 1)
    return ",".join(
        str(group[0]) if len(group) == 1 else "{" + ",".join(map(str, group)) + "}"
        for group in groups
    )
