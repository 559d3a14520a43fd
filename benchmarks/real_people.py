"""Real people: what a plain fit predicts of people it has not seen, against one ranking for all.

python -m benchmarks.real_people --data DIR [--sets llmfao,dublin,ml100,ml200] [--seeds 5]
    writes benchmarks/results/real_people.json

DIR holds llmfao/, irish/ and ml-1m/. The splits are those of `benchmarks.protocol`, and those of
`benchmarks.simulated_people` for the sets consistent, mixed, llmfao-answers and ml200-halves, where
single comparisons of known people are held out (a fifth, or half of them). Nothing is tuned by
hand, and nothing is chosen by a score on test people. For each data set: the gap in log-loss to one
ranking for all (Bradley–Terry scores of the people who teach), of the predictor, of each of its
members alone, of the predictor as members are added, and of the components alone; with 95%
intervals over test people, and the CPU seconds of a plain fit beside those of the components alone
where their number is given. With --rivals, the same for other systems (`benchmarks.rivals`);
--finished names a folder in which each rival's result is kept, so that an interrupted run can go
on; the results are then in real_people_rivals.json.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks import protocol, rivals, simulated_people
from benchmarks.record import RESULTS, load, save
from benchmarks.simulated_people import split_answers
from mallowmix.engine import Block
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.pooled_prediction import member_probabilities, predictor_probabilities
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.model.predictor import CalibratedModel
from mallowmix.numerics.clustered_error import clustered_ratio
from mallowmix.typing import Array

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
        parts = split_answers(SIMULATED[name](seed), seed)  # every seed has people of its own
        person = parts.person + seed * simulated_people.N_PEOPLE
        return parts._replace(person=person), simulated_people.Q
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
    mm.fit(data, model.n_components, predictor=False, n_jobs=1)
    cpu["components alone, their number given"] = time.process_time() - begin
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
    assert model.report.predictor is not None
    names = [score.name for score in model.report.predictor.members]
    for n, j in enumerate(by_weight, 1):
        member = predictor.members[j]
        found[names[j]] = member_probabilities(block, member, queries)
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


def summary(values: list[Array], person: list[NDArray[np.int64]]) -> dict[str, float]:
    """The mean over splits, and half the width of its 95% interval.

    Each person counts once, in however many splits they are test people: what a person adds to the
    mean over splits is one observation.
    """
    kept = [np.isfinite(each) for each in values]
    share = np.concatenate([np.full(each.sum(), 1 / each.sum()) for each in kept])
    who = np.concatenate([each[some] for each, some in zip(person, kept, strict=True)])
    flat = np.concatenate([each[some] for each, some in zip(values, kept, strict=True)])
    mean, error = clustered_ratio(np.bincount(who, share * flat), np.bincount(who, share))
    return {"gap": mean, "half_width": rivals.LEVEL * error}


def rival_gaps(
    against: list[dict[str, rivals.Rival]], ours: list[Array], person: list[NDArray[np.int64]]
) -> dict[str, dict[str, float]]:
    """Each rival's log-loss less ours over all splits, and that of the rival chosen in each."""

    def gap(names: list[str]) -> dict[str, float]:
        theirs = [found[name].losses for found, name in zip(against, names, strict=True)]
        return summary([a - b for a, b in zip(theirs, ours, strict=True)], person)

    table = {name: gap([name] * len(against)) for name in against[0]}
    return table | {"chosen by training people": gap([rivals.chosen(found) for found in against])}


def run_set(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """All splits of one data set."""
    found, costs, person, against = [], [], [], []
    for seed in _seeds(given):
        parts, Q = split(name, given.data, seed)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            each, cpu = gaps(parts, Q)
            against.append(_rivals(f"{name}-{seed}", parts, Q, given, seed))
        found.append(each)
        costs.append(cpu)
        person.append(parts.person)
        print(name, seed, {k: round(float(np.nanmean(v)), 4) for k, v in each.items()}, flush=True)
    systems = dict.fromkeys(system for each in found for system in each)
    results: dict[str, Any] = {
        "seeds": given.seeds,
        "first_seed": given.first_seed,
        "gaps": {system: _of_splits(system, found, person) for system in systems},
        "cpu": {key: float(np.median([cpu[key] for cpu in costs])) for key in costs[0]},
    }
    if not given.rivals:
        return results
    ours = [each["one ranking (log-loss)"] - each["predictor"] for each in found]
    results["rivals"] = [rivals.record(*both) for both in zip(against, ours, strict=True)]
    results["rival_gaps"] = rival_gaps(against, ours, person)
    return results


def _seeds(given: argparse.Namespace) -> range:
    return range(given.first_seed, given.first_seed + given.seeds)


def _of_splits(
    system: str, found: list[dict[str, Array]], person: list[NDArray[np.int64]]
) -> dict[str, float]:
    """The summary over those splits in which a system was there: members differ between them."""
    there = [n for n, each in enumerate(found) if system in each]
    values = summary([found[n][system] for n in there], [person[n] for n in there])
    return values | {"splits": len(there)}


def _rivals(
    split_name: str, parts: protocol.Split, Q: int, given: argparse.Namespace, seed: int
) -> dict[str, rivals.Rival]:
    """The rivals that were asked for, on one split."""
    return {
        name: rivals.finished_or_run(
            name,
            folder=given.finished,
            split_name=split_name,
            parts=parts,
            Q=Q,
            candidates=given.components,
            seed=seed,
        )
        for name in given.rivals
    }


def main() -> None:
    """Run the data sets asked for; results of others are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rivals", type=lambda text: text.split(","), default=[])
    parser.add_argument(
        "--components",
        type=lambda text: [int(K) for K in text.split(",")],
        default=list(rivals.COMPONENTS),
    )
    parser.add_argument("--finished", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    for name in given.sets.split(","):
        if name not in SETS:
            parser.error(f"no set {name!r}: choose from {', '.join(SETS)}")
    file = "real_people_rivals" if given.rivals else "real_people"
    for name in given.sets.split(","):
        results = run_set(name, given)
        others = load(file, given.output) or {}  # only now: two runs may go side by side
        save(file, others | {name: results}, given.output, _seeds(given))


if __name__ == "__main__":
    main()
