"""How often intervals from the posterior hold the truth, where people answer as M4 says and not.

python -m benchmarks.posterior_coverage [--data-sets 200] [--worlds answers rankings] [--seed 0]
    writes posterior_coverage_answers.json and posterior_coverage_rankings.json to
    benchmarks/results, in an hour on two cores; what is done is kept in --finished FILE (one line
    for each data set), from which the next call goes on

World "answers": people's answers are drawn from M4. World "rankings": each person holds one ranking
of a mixture of two Mallows models and orders six of the items by it, so that a person's comparisons
depend on each other; there `rank` and `leaderboard` after a plain fit are looked at, too. The truth
for φ, shares and positions is then what the same estimator, the posterior mean, reaches on 100,000
people; win rates, ranks in the population and a person's own ranking have a truth of their own.

Positions and ranks are whole numbers: their coverage may lie above the level. Each coverage stands
with its 95% interval over data sets.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mallowmix as mm
from benchmarks.interval_coverage import inside
from benchmarks.record import RESULTS, save
from mallowmix.engine import parallel_map
from mallowmix.errors import MallowmixWarning
from mallowmix.infer.posterior.posterior_intervals import PosteriorIntervals
from mallowmix.model.mallows import beta_matrix, sample_orders
from mallowmix.model.permutations import match_components, sigma_of
from mallowmix.numerics.randomness import Step, child_seed, generator

LEVELS = (0.5, 0.9)
WORLDS = ("answers", "rankings")
SHARE, PHI = np.array([0.6, 0.4]), np.array([0.35, 0.55])


class Setting(NamedTuple):
    """Sizes of a population and of its chains."""

    Q: int = 8
    M: int = 200
    N: int = 20  # answers of a person
    n_ranked: int = 6  # items that a person orders
    n_people: int = 20  # whose own rankings are looked at
    n_chains: int = 2
    n_warmup: int = 150
    n_draws: int = 120
    n_many: int = 100_000  # people behind the value that the estimator reaches


QUICK = Setting(Q=5, M=40, N=10, n_ranked=4, n_people=4, n_warmup=20, n_draws=20, n_many=300)


class Truth(NamedTuple):
    """What intervals are held against; components in any order."""

    sigma: Any  # (2, Q) positions, which may lie between whole numbers
    phi: Any  # (2,)
    share: Any  # (2,)
    win_rate: Any  # (Q,)


def planted(setting: Setting) -> np.ndarray:
    """(2, Q) the references of both worlds: the second reverses half of the first."""
    first, half = np.arange(setting.Q), setting.Q // 2
    return np.stack([first, np.concatenate([first[half - 1 :: -1], first[half:]])])


def win_rates(setting: Setting) -> np.ndarray:
    """(Q,) how often the population prefers an item to another one, in both worlds."""
    pairs = zip(SHARE, planted(setting), PHI, strict=True)
    table = sum(share * beta_matrix(sigma, phi) for share, sigma, phi in pairs)
    return (table.sum(1) - 0.5) / (setting.Q - 1)


def answers(setting: Setting, n_people: int, seed: int) -> tuple[mm.Comparisons, Any]:
    """Comparisons from M4, and people's weights."""
    items = [f"i{i:02d}" for i in range(setting.Q)]
    drawn = mm.M4(planted(setting), PHI, 0.8 * SHARE, items).sample(n_people, setting.N, seed=seed)
    return drawn.comparisons, drawn.theta


def rankings(setting: Setting, n_people: int, seed: int) -> tuple[mm.Comparisons, Any]:
    """Comparisons from one ranking a person, of some of the items; and their whole rankings."""
    random = generator(seed, Step.SIMULATION)
    component = (random.random(n_people) > SHARE[0]).astype(int)
    orders = np.empty((n_people, setting.Q), np.int64)
    for k, reference in enumerate(planted(setting)):
        own = np.flatnonzero(component == k)
        own_seed = child_seed(seed, Step.SIMULATION, k)
        orders[own] = sample_orders(np.argsort(reference), PHI[k], len(own), seed=own_seed)
    users, items = [f"u{m:06d}" for m in range(n_people)], [f"i{i:02d}" for i in range(setting.Q)]
    everything = np.tile(np.arange(setting.Q), (n_people, 1))
    shown = random.permuted(everything, axis=1)[:, : setting.n_ranked]
    given = [
        [items[i] for i in order if i in some]
        for order, some in zip(orders, map(set, shown.tolist()), strict=True)
    ]
    ranked = mm.Rankings.from_orders(given, users=users, items=items)
    return ranked.comparisons(), sigma_of(orders)


def posterior(
    setting: Setting, comparisons: mm.Comparisons, seed: int, max_users: int
) -> mm.PosteriorSample:
    """Draws for one population; for very many people one chain is enough."""
    few = max_users > 2 * setting.M
    return mm.sample_posterior(
        comparisons,
        2,
        n_chains=1 if few else setting.n_chains,
        n_warmup=setting.n_warmup // (2 if few else 1),
        n_draws=setting.n_draws // (4 if few else 1),
        thin=1 if few else 2,
        max_users=max_users,
        keep_theta=not few,
        seed=seed,
        n_jobs=1,
    )


def reached(setting: Setting, seed: int) -> Truth:
    """What the posterior mean is for very many people who hold one ranking each."""
    sample = posterior(
        setting, rankings(setting, setting.n_many, seed)[0], seed, max_users=setting.n_many
    )
    share = sample.alpha / sample.alpha.sum(-1, keepdims=True)
    mean = (values.mean((0, 1)) for values in (sample.sigma, sample.phi, share))
    return Truth(*mean, win_rates(setting))


def covered(setting: Setting, world: str, truth: Truth, seed: int, number: int) -> dict[str, Any]:
    """What the intervals of one data set hold, by level and quantity."""
    own = child_seed(seed, Step.SIMULATION, number)
    draw = answers if world == "answers" else rankings
    comparisons, people = draw(setting, setting.M, int(own % 2**31))
    sample = posterior(setting, comparisons, int(own % 2**31), max_users=setting.M)
    model = mm.fit(comparisons, 2, n_jobs=1) if world == "rankings" else None
    found: dict[str, Any] = {}
    for level in LEVELS:
        intervals = mm.posterior_intervals(sample, level=level)
        held = of_population(truth, intervals)
        held |= (
            of_weights(truth, sample, intervals, people, level)
            if model is None
            else of_people(setting, model, comparisons, people, level)
            | of_leaderboard(truth, model, level)
        )
        found[str(level)] = held | {"converged": float(intervals.converged)}
    return found


def of_population(truth: Truth, found: PosteriorIntervals) -> dict[str, float]:
    """The part of the population's quantities that the intervals hold, and mean widths."""
    at = match(truth, found)
    board = np.argsort(np.argsort(-truth.win_rate))
    pairs = {
        "phi": (truth.phi, found.phi, at),
        "share": (truth.share, found.share, at),
        "position": (truth.sigma, found.position, at),
        "win_rate": (truth.win_rate, found.win_rate, slice(None)),
        "leaderboard": (board, found.leaderboard, slice(None)),
    }
    out = {}
    for name, (true, interval, order) in pairs.items():
        low, high = interval.low[order], interval.high[order]
        out[name] = inside(true, low, high)
        out[f"width of {name}"] = float(np.mean(high - low))
    return out


def match(truth: Truth, found: PosteriorIntervals) -> np.ndarray:
    """The component of the posterior that is each component of the truth."""
    near, true = (
        np.argsort(np.argsort(each, axis=1), axis=1)
        for each in (found.position.estimate, truth.sigma)
    )
    matched = match_components(near, true)
    return np.asarray(matched.found)[np.argsort(matched.truth)]


def of_weights(
    truth: Truth, sample: mm.PosteriorSample, found: PosteriorIntervals, theta: Any, level: float
) -> dict[str, float]:
    """The part of people's weights between the quantiles of their draws."""
    at, drawn = match(truth, found), sample.theta
    if drawn is None:
        return {}
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=(0, 1))
    return {
        "weight": inside(theta, low[:, at], high[:, at]),
        "width of weight": float(np.mean(high - low)),
    }


def of_people(
    setting: Setting, model: mm.FittedModel, comparisons: mm.Comparisons, sigma: Any, level: float
) -> dict[str, float]:
    """The part of positions in people's own rankings that `rank` after a plain fit holds."""
    few = np.arange(setting.n_people)
    ranked = mm.rank(model, comparisons.take_users(few), level=level)
    held, widths = [], []
    for m, lines in enumerate(ranked):
        for line in lines:
            true = sigma[m][int(str(line.item)[1:])] + 1
            held.append(line.low <= true <= line.high)
            widths.append(line.high - line.low)
    return {"own ranking": float(np.mean(held)), "width of own ranking": float(np.mean(widths))}


def of_leaderboard(truth: Truth, model: mm.FittedModel, level: float) -> dict[str, float]:
    """The part of win rates and ranks that `leaderboard` after a plain fit holds."""
    board = mm.leaderboard(model, level=level)
    item = np.array([int(str(label)[1:]) for label in board.items.tolist()])
    rank = np.argsort(np.argsort(-truth.win_rate))[item] + 1
    return {
        "win rate of a fit": inside(truth.win_rate[item], board.low, board.high),
        "width of win rate of a fit": float(np.mean(board.high - board.low)),
        "rank of a fit": inside(rank, board.rank_low, board.rank_high),
        "width of rank of a fit": float(np.mean(board.rank_high - board.rank_low)),
    }


def table(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean over data sets of each number, and half the width of its 95% interval."""
    out: dict[str, Any] = {}
    for level in rows[0]:
        values = {name: np.array([row[level][name] for row in rows]) for name in rows[0][level]}
        out[level] = {
            name: [float(x.mean()), float(1.96 * x.std(ddof=1) / np.sqrt(len(x)))]
            for name, x in values.items()
        }
    return out


def measure(
    world: str, n_data_sets: int, setting: Setting, seed: int, finished: Path | None = None
) -> dict[str, Any]:
    """The table of one world; data sets in `finished` are not made again."""
    there = finished is not None and finished.exists()
    lines = finished.read_text(encoding="utf-8").splitlines() if finished and there else []
    known = [json.loads(line) for line in lines]
    done = {each["number"]: each["row"] for each in known if each["world"] == world}
    theory = Truth(planted(setting), PHI, SHARE, win_rates(setting))
    truth = theory if world == "answers" else reached(setting, seed)
    todo = [n for n in range(n_data_sets) if n not in done]
    for start in range(0, len(todo), 8):
        numbers = todo[start : start + 8]
        rows = parallel_map(partial(covered, setting, world, truth, seed), numbers)
        for number, row in zip(numbers, rows, strict=True):
            done[number] = row
            if finished is not None:
                with finished.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"world": world, "number": number, "row": row}) + "\n")
        print(f"{world}: {len(done)} of {n_data_sets}", file=sys.stderr)
    return table([done[n] for n in range(n_data_sets)])


def main() -> None:
    """Measure the worlds and keep a table of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--finished", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", MallowmixWarning)
    about: dict[str, Any] = {"data_sets": given.data_sets, "setting": Setting()._asdict()}
    for world in given.worlds:
        numbers = measure(world, given.data_sets, Setting(), given.seed, given.finished)
        for level, row in numbers.items():
            for name, (mean, half) in row.items():
                print(f"{world:9s} {level:4s} {name:24s} {mean:.3f} ± {half:.3f}")
        save(f"posterior_coverage_{world}", about | {world: numbers}, RESULTS, [given.seed])


if __name__ == "__main__":
    main()
