"""New people's choices between things that were held out of what the model was given about them.

Log-loss against one ranking for all.

People are split, two thirds to learn from; of each of the others half of the items are given, and
the comparisons between two items that are both held out are scored. Ratings make at most min(6 n,
150) comparisons a person of n items. Log-loss per comparison, mean over people; intervals are over
people, and who is asked in several splits counts as one.

    python -m benchmarks.new_people --llmfao FILE --movielens DIR --seeds 5 [--rivals low-rank
        mixture-bt mm-btl]    writes benchmarks/results/new_people.json; goes on where it stopped

Rivals are the systems of `mallowmix.peers`, with the same number of components where they have any,
on the same splits.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import numpy as np

import mallowmix as mm
from benchmarks.earlier_rows import earlier
from benchmarks.record import RESULTS, save
from mallowmix.errors import MallowmixWarning
from mallowmix.infer.predict import predict_each
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.peers.systems import SYSTEMS
from mallowmix.readers.movielens import movielens_comparisons, read_movielens

N_PEOPLE, MOST_A_ITEM, MOST = 3000, 6, 150


def llmfao(path: Path) -> mm.Comparisons:
    """Votes between answers of language models, ties dropped."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["winner"] in ("left", "right")]
    other = {"left": "right", "right": "left"}
    return mm.Comparisons.from_arrays(
        [row["worker"] for row in rows],
        [row[row["winner"]] for row in rows],
        [row[other[row["winner"]]] for row in rows],
    )


def rows_of(votes: mm.Comparisons, keep: np.ndarray) -> mm.Comparisons:
    """The same people with some of their rows."""
    return replace(
        votes,
        **{name: getattr(votes, name)[keep] for name in ("user", "winner", "loser", "weight")},
    )


def thinned(votes: mm.Comparisons, keep: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Of the rows that are kept, at most min(6 n, 150) of each person with n items."""
    starts, out = votes.starts(), np.zeros(len(keep), bool)
    for m in range(votes.n_users):
        rows = starts[m] + np.flatnonzero(keep[starts[m] : starts[m + 1]])
        n_items = len(np.unique(np.r_[votes.winner[rows], votes.loser[rows]]))
        out[random.permutation(rows)[: min(MOST_A_ITEM * n_items, MOST)]] = True
    return out


def held_out(votes: mm.Comparisons, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows between two given items, and rows between two held-out ones.

    Half of a person's items are given.
    """
    starts = votes.starts()
    given, held_out_rows = np.zeros(len(votes.user), bool), np.zeros(len(votes.user), bool)
    for m in range(votes.n_users):
        rows = slice(starts[m], starts[m + 1])
        items = random.permutation(np.unique(np.r_[votes.winner[rows], votes.loser[rows]]))
        is_given = np.isin(
            np.stack([votes.winner[rows], votes.loser[rows]]), items[: round(len(items) / 2)]
        )
        given[rows], held_out_rows[rows] = is_given.all(axis=0), ~is_given.any(axis=0)
    return given, held_out_rows


def split(
    votes: mm.Comparisons, seed: int, rated: bool
) -> tuple[mm.Comparisons, mm.Comparisons, mm.Comparisons]:
    """Whom to learn from, and what is given and held out of the others."""
    random = np.random.default_rng(seed)
    order = random.permutation(votes.n_users)[:N_PEOPLE]
    cut = len(order) * 2 // 3
    train, test = votes.take_users(np.sort(order[:cut])), votes.take_users(np.sort(order[cut:]))
    given, held_out_rows = held_out(test, random)
    everything = np.ones(len(train.user), bool)
    if rated:
        everything, given, held_out_rows = (
            thinned(*part, random)
            for part in ((train, everything), (test, given), (test, held_out_rows))
        )
    return rows_of(train, everything), rows_of(test, given), rows_of(test, held_out_rows)


def losses(model: mm.M4, given: mm.Comparisons, held_out_rows: mm.Comparisons) -> np.ndarray:
    """Each person's mean log-loss, NaN for those who are asked nothing."""
    items, users = model.items, given.users[held_out_rows.user].tolist()
    pairs = list(
        zip(items[held_out_rows.winner].tolist(), items[held_out_rows.loser].tolist(), strict=True)
    )
    return mean_losses(predict_each(model, given, users, pairs)[0], held_out_rows)


def mean_losses(p: np.ndarray, held_out_rows: mm.Comparisons) -> np.ndarray:
    """Each person's mean of −log p over the rows asked of them."""
    total, n = (
        np.bincount(held_out_rows.user, held_out_rows.weight * value, held_out_rows.n_users)
        for value in (-np.log(p), np.ones(len(p)))
    )
    return np.divide(total, n, out=np.full(held_out_rows.n_users, np.nan), where=n > 0)


def rival_losses(
    system: str, train: mm.Comparisons, given: mm.Comparisons, held_out_rows: mm.Comparisons, K: int
) -> np.ndarray:
    """The same of another system."""
    pairs, which = np.unique(
        np.stack([held_out_rows.winner, held_out_rows.loser]), axis=1, return_inverse=True
    )
    names = [tuple(train.items[pair].tolist()) for pair in pairs.T]
    table = SYSTEMS[system]().fit(train, K).predict_proba(given, names)
    return mean_losses(table[held_out_rows.user, which], held_out_rows)


def one_ranking(train: mm.Comparisons) -> mm.BradleyTerryModel:
    """One Bradley–Terry ranking for all, as a model of one component."""
    wins = np.zeros((train.n_items, train.n_items))
    np.add.at(wins, (train.winner, train.loser), train.weight)
    scores = best_scores(wins, ridge=1.0)
    return mm.BradleyTerryModel(scores[None], [1.0], train.items)


def measure(
    votes: mm.Comparisons, K: int, n_fits: int, seed: int, rated: bool, components: ComponentsKind
) -> dict:
    """One split: the losses of every person under each system."""
    train, given, held_out_rows = split(votes, seed, rated)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        several = mm.fit(train, K, n_fits=n_fits, components=components, predictor=False)
        ours = mm.calibrate(several, train)
    seconds = time.perf_counter() - start
    found = {
        "one ranking": one_ranking(train),
        "one fit": replace(several, ensemble=mm.Ensemble()),
        "several fits": several,
        "calibrated": ours,
    }
    table = {name: losses(model, given, held_out_rows) for name, model in found.items()}
    asked_of = ~np.isnan(table["one ranking"])
    calibration = asdict(ours.calibration)
    people = {"people": [str(name) for name in given.users[asked_of].tolist()]}
    about = {"seed": seed, "seconds": seconds, "calibration": calibration}
    return about | people | {n: v[asked_of].tolist() for n, v in table.items()}


def measure_rival(
    votes: mm.Comparisons, K: int, seed: int, rated: bool, system: str
) -> list[float]:
    """One split: the losses of every person who is asked anything under another system."""
    train, given, held_out_rows = split(votes, seed, rated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        found = rival_losses(system, train, given, held_out_rows, K)
    return found[~np.isnan(found)].tolist()


def summary(rows: list[dict]) -> dict:
    """Means over people and splits, and the gain over one ranking, and over each rival, with 95%
    intervals.
    """
    names = ("one ranking", "one fit", "several fits", "calibrated")
    out = {name: float(np.mean([np.mean(row[name]) for row in rows])) for name in names}
    gain, interval = gain_over([row["one ranking"] for row in rows], rows)
    return out | {"gain": gain, "gain_interval": interval, "rivals": rival_summary(rows)}


def rival_summary(rows: list[dict]) -> dict:
    """Of each rival that was run on every split: its mean, and what M4 gains over it."""
    run = [set(row.get("rivals", ())) for row in rows]
    out = {}
    for system in sorted(set.intersection(*run)):
        losses_of = [row["rivals"][system] for row in rows]
        gain, interval = gain_over(losses_of, rows)
        out[system] = {
            "loss": float(np.mean([np.mean(each) for each in losses_of])),
            "gain": gain,
            "gain_interval": interval,
        }
    return out


def gain_over(others: list[list[float]], rows: list[dict]) -> tuple[float, list[float]]:
    """The mean of others' losses less M4's, and its 95% interval.

    Whoever is in several splits gives one sum of gains.
    """
    gain = np.concatenate(
        [np.subtract(other, row["calibrated"]) for other, row in zip(others, rows, strict=True)]
    )
    _, person = np.unique(np.concatenate([row["people"] for row in rows]), return_inverse=True)
    sums = np.bincount(person, gain - gain.mean())
    half = 1.96 * np.sqrt(np.sum(sums**2)) / len(gain)
    return float(gain.mean()), [float(gain.mean() - half), float(gain.mean() + half)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llmfao", type=Path, help="crowd-comparisons.csv of llmfao")
    parser.add_argument("--movielens", type=Path, help="the folder of MovieLens 1M")
    parser.add_argument("--items", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n-fits", type=int, default=8)
    parser.add_argument("--components", default="mallows", choices=get_args(ComponentsKind))
    parser.add_argument("--rivals", nargs="*", default=[], choices=list(SYSTEMS), metavar="SYSTEM")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    options = parser.parse_args(arguments)
    tasks, settings = [], f"{options.components}, {options.n_fits} fits"
    if options.llmfao:
        votes = llmfao(options.llmfao)
        tasks += [(f"llmfao, K={K}, {settings}", votes, K, False) for K in (2, 3)]
    if options.movielens:
        ratings = read_movielens(options.movielens)
        tasks += [
            (f"ML-1M, Q={Q}, K=8, {settings}", movielens_comparisons(ratings, Q), 8, True)
            for Q in options.items
        ]
    table = earlier("new_people", options.out)
    for name, votes, K, rated in tasks:
        rows = table.get(name, {}).get("rows", [])
        for seed in range(options.seeds):
            if seed == len(rows):
                rows.append(measure(votes, K, options.n_fits, seed, rated, options.components))
            known = rows[seed].setdefault("rivals", {})
            known |= {
                other: measure_rival(votes, K, seed, rated, other)
                for other in options.rivals
                if other not in known
            }
            table[name] = summary(rows) | {"K": K, "n_fits": options.n_fits, "rows": rows}
            save("new_people", table, options.out, range(options.seeds))
            print(
                name,
                seed,
                {key: value for key, value in table[name].items() if key != "rows"},
                flush=True,
            )


if __name__ == "__main__":
    main()
