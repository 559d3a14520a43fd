"""Insertion search by rows and running sums against the plain one that swaps neighbours.

The same moves, how much sooner.

    python -m benchmarks.insertion [--items 50 100 200]    writes benchmarks/results/insertion.json

The likelihood of a component, tabulated by gap: ten planted rankings with much noise (φ = .94, as
rankings of films come out) or some (φ = .5), 4,000 people who mix them (α = .1), 300 comparisons
each. Both searches start from where the search ends with every item shaken by five positions or so
("far"), or by a tenth as much ("near"): a fit begins with the one and mostly meets the other.
"""

import argparse
from itertools import product

import numba as nb
import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, about, repeated, save
from mallowmix.engine import make_blocks
from mallowmix.learn.spectral.insertion_search import insert_by_gap
from mallowmix.learn.spectral.likelihood_tables import by_gap, new_tables
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.tabulate import tabulate

PHIS, K, ALPHA, PEOPLE, EACH = (0.94, 0.5), 10, 0.1, 4000, 300
SHAKES = {"far": 5.0, "near": 0.5}
_GIVE_UP = 60.0  # the plain search stops carrying an item on once it has lost this much


@nb.njit(nogil=True)
def _swap_gain(values, order, r, D):
    """What exchanging the neighbours in positions r and r + 1 gains.

    Their gaps to all the others change.
    """
    a, b = order[r], order[r + 1]
    gain = values[a, b, D + 1] - values[b, a, D + 1]
    for s in range(len(order)):
        if s == r or s == r + 1:
            continue
        other, from_r, from_next = order[s], min(max(r - s, -D), D), min(max(r + 1 - s, -D), D)
        gain += values[a, other, D + from_next] - values[a, other, D + from_r]
        gain += values[b, other, D + from_r] - values[b, other, D + from_next]
    return gain


@nb.njit(nogil=True)
def by_swaps(values, order):
    """Every item is carried up and down past its neighbours, one after the other, and put where the
    sum of gains was largest.
    """
    Q, D, moved = len(order), values.shape[2] // 2, True
    for _ in range(100):
        if not moved:
            break
        moved = False
        for item in range(Q):
            position = np.argmax(order == item)
            best, target = 1e-7, position
            for direction in (-1, 1):
                trial, gain, r = order.copy(), 0.0, position
                while 0 <= r + direction < Q and gain > best - _GIVE_UP:
                    upper = min(r, r + direction)
                    gain += _swap_gain(values, trial, upper, D)
                    trial[upper], trial[upper + 1] = trial[upper + 1], trial[upper]
                    r += direction
                    if gain > best:
                        best, target = gain, r
            if target != position:
                order = np.concatenate((order[:position], order[position + 1 :]))
                order = np.concatenate(
                    (order[:target], np.array([item], order.dtype), order[target:])
                )
                moved = True
    return order


def values_of(n_items: int, phi: float, people: int) -> np.ndarray:
    """(P, 2D + 1) what pairs are worth to the first component by their gap, at people's true
    weights.
    """
    sigma = np.random.default_rng(0).permuted(np.tile(np.arange(n_items), (K, 1)), axis=1)
    truth = mm.M4(sigma, np.full(K, phi), np.full(K, ALPHA), np.arange(n_items))
    drawn = truth.sample(people, EACH, seed=0)
    tables, components = new_tables(K, n_items), MallowsComponents(truth.sigma, truth.phi)
    pairs = by_pair(make_blocks(drawn.comparisons))
    tables = tabulate(pairs, beta_table(components, 1e-3), drawn.theta, tables, which=[0])
    return by_gap(tables[0], n_items, phi)


def of_both_sides(values: np.ndarray, n_items: int) -> np.ndarray:
    """(Q, Q, 2D + 1) the same, of each pair as either of its items has it."""
    both = np.zeros((n_items, n_items, values.shape[1]), values.dtype)
    low, high = np.triu_indices(n_items, 1)
    both[low, high], both[high, low] = values, values[:, ::-1]
    return both


def measure(n_items: int, phi: float, people: int = PEOPLE) -> list[dict]:
    """Rows for one number of items.

    How many times as long the plain search takes, and whether both end alike.
    """
    values, rows = values_of(n_items, phi, people), []
    both = of_both_sides(values, n_items)
    top = insert_by_gap(values, np.arange(n_items, dtype=np.int32))
    for name, shake in SHAKES.items():
        start = np.argsort(np.argsort(top) + np.random.default_rng(0).normal(0, shake, n_items))
        start = start.astype(np.int32)
        fast, found = repeated(lambda start=start: insert_by_gap(values, start), 5)
        slow, other = repeated(lambda start=start: by_swaps(both, start.copy()), 3)
        same = bool((found == other).all())
        rows.append(
            {
                "items": n_items,
                "phi": phi,
                "start": name,
                "seconds": fast,
                "times": round(slow / fast, 2),
                "same": same,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[50, 100, 200])
    options = parser.parse_args()
    measure(10, 0.5, 20)  # compiles
    rows = []
    for n_items, phi in product(options.items, PHIS):
        for row in measure(n_items, phi):
            print(row, flush=True)
            rows.append(row)
    save(
        "insertion",
        {"people": PEOPLE, "comparisons_each": EACH, "rows": rows, "about": about()},
        RESULTS,
    )


if __name__ == "__main__":
    main()
