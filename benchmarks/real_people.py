"""Real people: what a plain fit predicts of people it has not seen, against one ranking for all.

python -m benchmarks.real_people --data DIR [--sets llmfao,dublin,ml100,ml200] [--seeds 5]
    writes benchmarks/results/real_people.json

DIR holds llmfao/, irish/ and ml-1m/. The splits are those of `benchmarks.protocol`, and those of
`benchmarks.simulated_people` for the sets consistent, mixed, llmfao-answers and ml200-halves, where
single comparisons of known people are held out (a fifth, or half of them). Nothing is tuned by
hand, and nothing is chosen by a score on test people. For each data set: the gap in log-loss to one
ranking for all (Bradley–Terry scores of the people who teach), of the predictor, of each of its
members alone, of the predictor as members are added, and of the components alone; with 95%
intervals over test people, and CPU seconds of both kinds of fit. With --rivals, the same for other
systems (`benchmarks.rivals`); --finished names a folder in which each rival's result is kept, so
that an interrupted run can go on.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks import protocol, rivals, simulated_people
from benchmarks.simulated_people import split_answers
from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import member_probabilities, predictor_probabilities
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.model.predictor import CalibratedModel, member_name
from mallowmix.typing import Array

RESULTS = Path(__file__).parent / "results" / "real_people.json"
SETS = (
    "llmfao",
    "dublin",
    "ml100",
    "ml200",
    "consistent",
    "mixed",
    "llmfao-answers",
    "ml200-halves",
)
SIMULATED = {
    "consistent": simulated_people.consistent_people,
    "mixed": simulated_people.mixed_people,
}


def split(name: str, folder: Path, seed: int) -> tuple[protocol.Split, int]:
    """One split of a data set, and its number of items."""
    if name in SIMULATED:
        return split_answers(SIMULATED[name](seed), seed), simulated_people.Q
    if name == "llmfao-answers":
        people, Q = protocol.read_llmfao(folder / "llmfao")
        return split_answers(people, seed), Q
    if name == "ml200-halves":
        people, Q = protocol.read_films(folder / "ml-1m", 200)
        return split_answers(protocol.answers_of(people, seed), seed, held_out=0.5), Q
    if name == "llmfao":
        people, Q = protocol.read_llmfao(folder / "llmfao")
        return protocol.split_votes(people, seed), Q
    if name == "dublin":
        people, Q = protocol.read_ballots(folder / "irish" / "dublin-west-2002.soi")
    else:
        people, Q = protocol.read_films(folder / "ml-1m", int(name.removeprefix("ml")))
    return protocol.split_levels(people, seed), Q


def _flat(people: list[protocol.Answers]) -> tuple[Any, Any, Any]:
    starts = np.r_[0, np.cumsum([len(winner) for winner, _ in people])].astype(np.int64)
    winner, loser = (np.concatenate([each[side] for each in people]) for side in (0, 1))
    return starts, winner.astype(np.int64), loser.astype(np.int64)


def one_ranking(parts: protocol.Split, Q: int) -> Array:
    """The held-out probabilities of one ranking for all."""
    _, winner, loser = _flat(parts.train)
    wins = np.bincount(winner * Q + loser, minlength=Q * Q).reshape(Q, Q).astype(np.float64)
    scores = best_scores(wins, 1.0)
    _, winner, loser = _flat(parts.held_out)
    return 1 / (1 + np.exp(scores[loser] - scores[winner]))


def gaps(parts: protocol.Split, Q: int) -> tuple[dict[str, Array], dict[str, float]]:
    """Each system's gap for each test person, and the CPU seconds of both kinds of fit."""
    starts, winner, loser = _flat(parts.train)
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    data = mm.Comparisons.from_arrays(user, winner, loser)
    data = data.with_items([str(item) for item in range(Q)]) if data.n_items < Q else data
    cpu = {}
    begin = time.process_time()
    model = mm.fit(data, n_jobs=1)
    cpu["fit"] = time.process_time() - begin
    begin = time.process_time()
    mm.fit(data, predictor=False, n_jobs=1)
    cpu["fit without predictor"] = time.process_time() - begin
    number = np.argsort(np.array([int(item) for item in model.items]))
    starts, winner, loser = _flat(parts.given)
    pair = (number[winner] * Q + number[loser]).astype(np.int32)
    block = Block(0, Q, starts, pair, np.ones(len(pair)), np.ones(len(starts) - 1))
    asked, winner, loser = _flat(parts.held_out)
    queries = Queries(asked, number[winner] * Q + number[loser])
    predictor = model.predictor
    assert predictor is not None
    begin = time.process_time()
    found = {"predictor": predictor_probabilities(block, predictor, queries)}
    cpu["ms a person"] = 1000 * (time.process_time() - begin) / len(parts.given)
    by_weight = np.argsort(-predictor.weights.sum(axis=0), kind="stable")
    for n, j in enumerate(by_weight, 1):
        member = predictor.members[j]
        found[member_name(member)] = member_probabilities(block, member, queries)
        first = first_members(predictor, by_weight[:n])
        found[f"first {n} members"] = predictor_probabilities(block, first, queries)
    alone = CalibratedModel(model.components)
    found["components alone"] = member_probabilities(block, alone, queries)
    person, n = queries.users(), len(parts.given)
    base = protocol.log_losses(one_ranking(parts, Q), person, n)
    losses = {name: base - protocol.log_losses(p, person, n) for name, p in found.items()}
    return losses | {"one ranking (log-loss)": base}, cpu


def first_members(predictor: mm.Predictor, kept: Any) -> mm.Predictor:
    """The predictor with some of its members; their weights add up to 1 again."""
    weights = predictor.weights[:, kept]
    members = tuple(predictor.members[j] for j in kept)
    evidence = predictor.evidence_weights
    total = weights.sum(axis=1, keepdims=True)
    return mm.Predictor(members, weights / total, None, evidence)


def beside(
    found: dict[str, Array], names: list[str], run: Callable[[str], rivals.Rival]
) -> dict[str, Any]:
    """The predictor beside its rivals on one split, from what `gaps` returned."""
    ours = found["one ranking (log-loss)"] - found["predictor"]
    return rivals.record({name: run(name) for name in names}, ours)


def summary(values: list[Array]) -> dict[str, float]:
    """The mean over splits, and half the width of its 95% interval over people of a split."""
    means = [float(np.nanmean(each)) for each in values]
    pooled = np.concatenate(values)
    error = float(np.nanstd(pooled) / np.sqrt(np.isfinite(pooled).sum() / len(values)))
    return {"gap": float(np.mean(means)), "half_width": 1.96 * error / np.sqrt(len(values))}


def main() -> None:
    """Run the data sets asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rivals", type=lambda text: text.split(","), default=[])
    parser.add_argument(
        "--components",
        type=lambda text: [int(K) for K in text.split(",")],
        default=list(rivals.COMPONENTS),
    )
    parser.add_argument("--finished", type=Path)
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in given.sets.split(","):
        found: dict[str, list[Array]] = {}
        costs: dict[str, list[float]] = {}
        against: list[dict[str, Any]] = []
        for seed in range(given.seeds):
            parts, Q = split(name, given.data, seed)
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                each, cpu = gaps(parts, Q)
                if given.rivals:
                    run = partial(
                        rivals.finished_or_run,
                        folder=given.finished,
                        split_name=f"{name}-{seed}",
                        parts=parts,
                        Q=Q,
                        candidates=given.components,
                        seed=seed,
                    )
                    against.append(beside(each, given.rivals, run))
                    print(name, seed, against[-1], flush=True)
            for system, values in each.items():
                found.setdefault(system, []).append(values)
            for key, value in cpu.items():
                costs.setdefault(key, []).append(value)
            print(
                name, seed, {k: round(float(np.nanmean(v)), 4) for k, v in each.items()}, flush=True
            )
        results[name] = {
            "seeds": given.seeds,
            "gaps": {system: summary(values) for system, values in found.items()},
            "cpu": {key: float(np.median(values)) for key, values in costs.items()},
            "rivals": against or results.get(name, {}).get("rivals", []),
        }
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
