"""How often `choose_k` finds the planted number of components, and what it says of coin answers and
of too little data.

python -m benchmarks.choose_k [--seeds 3]    writes benchmarks/results/choose_k.json, in a quarter
    of an hour on two cores
python -m benchmarks.choose_k --forms        rankings, ratings and votes, K = 1, 2, 3, 5, of few
    items and of as many as above, one population each, and 20 of rankings around one reference;
    writes benchmarks/results/choose_k_forms.json

Planted: random reference rankings, α = .1 each unless said, uniform pairs; as many numbers are
tried as the search needs. Of rankings and ratings each person has one ranking, around one of the
references; a rating is the third of the ranking that an item is in.
"""

import argparse
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning
from mallowmix.numerics.randomness import generator


@dataclass(frozen=True)
class Setting:
    """What is planted; K = 0 means that every answer is a coin's."""

    K: int
    Q: int
    M: int
    N: int
    phi: float = 0.5
    alpha: float = 0.1
    form: str = "votes"


SETTINGS = [
    Setting(3, 30, 600, 100, 0.3),
    Setting(3, 30, 600, 100, 0.5),
    Setting(5, 40, 800, 100, 0.3),
    Setting(5, 40, 800, 100, 0.5),
    Setting(5, 40, 800, 100, 0.5, 0.3),
    Setting(8, 50, 1000, 100, 0.3),
    Setting(8, 50, 1000, 100, 0.5),
    Setting(8, 50, 1000, 200, 0.5),
    Setting(1, 30, 600, 100, 0.5, 1.0),
    Setting(0, 30, 600, 100),
    Setting(0, 10, 60, 20),
]


FEW_ITEMS = dict.fromkeys((1, 2, 3, 5), (12, 600, 60))
MANY_ITEMS = {1: (30, 600, 100), 2: (30, 600, 100), 3: (30, 600, 100), 5: (40, 800, 100)}
FORMS = [
    Setting(K, *sizes[K], form=form)
    for sizes in (FEW_ITEMS, MANY_ITEMS)
    for form in ("votes", "rankings", "ratings")
    for K in (1, 2, 3, 5)
]
ONE_COMPONENT = Setting(1, 12, 600, 60, form="rankings")


def orders_of(setting: Setting, random: np.random.Generator) -> list[list[str]]:
    """A Mallows ranking of each person, by repeated insertion, around one of the references."""
    references = [random.permutation(setting.Q) for _ in range(setting.K)]
    orders = []
    for m in range(setting.M):
        order: list[str] = []
        for item in references[m % setting.K]:
            p = setting.phi ** np.arange(len(order) + 1)
            order.insert(len(order) - random.choice(len(order) + 1, p=p / p.sum()), f"i{item:03d}")
        orders.append(order)
    return orders


def ranked(setting: Setting, seed: int) -> Comparisons:
    """People with a ranking each, as rankings or as ratings from 1 to 3."""
    orders = orders_of(setting, generator(seed, 111))
    if setting.form == "rankings":
        return mm.Rankings.from_orders(orders).comparisons()
    rows = [
        (f"u{m:04d}", item, 3 - 3 * place // setting.Q)
        for m, order in enumerate(orders)
        for place, item in enumerate(order)
    ]
    user, item, stars = zip(*rows, strict=True)
    return mm.comparisons_from_ratings(user, item, stars)


def drawn(setting: Setting, seed: int) -> Comparisons:
    """A population of the setting."""
    if setting.form != "votes":
        return ranked(setting, seed)
    random = generator(seed, 110)
    items = [f"i{i:03d}" for i in range(setting.Q)]
    K = max(setting.K, 1)
    sigma = random.permuted(np.tile(np.arange(setting.Q), (K, 1)), axis=1)
    phi = setting.phi if setting.K else 1.0  # a Mallows component with φ = 1 is a coin
    return (
        mm.M4(sigma, np.full(K, phi), np.full(K, setting.alpha), items)
        .sample(setting.M, setting.N, seed=seed)
        .comparisons
    )


def measure(setting: Setting, seed: int) -> dict[str, Any]:
    """What was chosen, why, and how long it took."""
    votes, start = drawn(setting, seed), time.perf_counter()
    choice = mm.choose_k(votes)
    seconds = round(time.perf_counter() - start, 1)
    found = {
        "k": choice.k,
        "right": choice.k == (setting.K or None),
        "certain": choice.certain,
        "reason": choice.reason,
    }
    return asdict(setting) | {"seed": seed} | found | {"seconds": seconds}


def main() -> None:
    """Measure and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="populations of each setting")
    parser.add_argument("--forms", action="store_true", help="rankings, ratings and votes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", MallowmixWarning)
    cases = [(setting, seed) for setting in SETTINGS for seed in range(options.seeds)]
    if options.forms:
        cases = [(setting, 0) for setting in FORMS]
        cases += [(ONE_COMPONENT, seed) for seed in range(20)]
    rows = []
    for setting, seed in cases:
        rows.append(row := measure(setting, seed))
        print(row, flush=True)
    found = {"right": sum(row["right"] for row in rows), "of": len(rows), "rows": rows}
    print(f"{found['right']} of {found['of']} right")
    name = "choose_k_forms" if options.forms else "choose_k"
    save(name, found, options.out, sorted({seed for _, seed in cases}))


if __name__ == "__main__":
    main()
