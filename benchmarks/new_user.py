"""What a new user meets: the first version's faults on real people, and the same things today.

python -m benchmarks.new_user --data DIR [--seeds 5]
    writes benchmarks/results/new_user.json, and prints the table

DIR holds llmfao/. Measured here: a person who puts one dish over all others; plain fits of llmfao
with two, three and five components, on the splits of `benchmarks.protocol`; and the leaderboard of
llmfao beside Bradley–Terry's. The other rows are read from the last run of
`benchmarks.real_people`. What stands under "first version" was measured on that version.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mallowmix as mm
from benchmarks import protocol
from benchmarks.first_version import parser_of, side_by_side
from benchmarks.record import load, save
from benchmarks.rivals import comparisons
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.peers.baselines import BradleyTerry

NUMBERS = (2, 3, 5)
KEPT = Path(__file__).parent / "results"  # wherever this run writes
FAVOURITE, OTHER = "pizza", "vindaloo"
FIRST = {
    "ml100": ".640, one ranking .627",
    "ml200": ".656, one ranking .618",
    "llmfao": ".538 / .543 / .681",
    "favourite": "6th, .43",
    "consistent": ".476",
    "leaderboard": "a model of 13B over GPT-4",
}


def favourite(seed: int = 0) -> dict[str, float]:
    """Where a plain fit puts a dish that somebody put over all others, and how surely."""
    dishes = mm.load_dishes().comparisons
    model = mm.fit(dishes, seed=seed, n_jobs=1)
    others = [item for item in dishes.items.tolist() if item != FAVOURITE]
    person = mm.Comparisons.from_arrays(["me"] * len(others), [FAVOURITE] * len(others), others)
    ranked = [row.item for row in mm.rank(model, person)[0]]
    p = float(mm.predict(model, person, [(FAVOURITE, OTHER)])[0, 0])
    return {"position": ranked.index(FAVOURITE) + 1, "probability": p}


def more_components(folder: Path, seeds: int) -> dict[str, float]:
    """The mean log-loss of plain fits by their number of components, and of one ranking."""
    people, Q = protocol.read_llmfao(folder)
    losses: dict[str, list[float]] = {}
    for seed in range(seeds):
        parts = protocol.split_votes(people, seed)
        train, given, held_out = (comparisons(part, Q) for part in parts[:3])
        models = {str(K): mm.fit(train, K, n_jobs=1) for K in NUMBERS}
        systems = {**models, "one ranking": BradleyTerry()}
        found = mm.compare_on_split(systems, train, given, held_out)
        for row in found.table:
            losses.setdefault(row.name, []).append(row.log_loss_by_person)
    return {name: float(np.mean(values)) for name, values in losses.items()}


def leaderboards(folder: Path, n_top: int = 3) -> dict[str, Any]:
    """The first items of both leaderboards, ours with the lowest position that each may have."""
    votes = mm.read(folder / "crowd-comparisons.csv", ties="drop").comparisons
    board = mm.leaderboard(mm.fit(votes, n_jobs=1))
    Q = votes.n_items
    wins = np.zeros((Q, Q))
    np.add.at(wins, (votes.winner, votes.loser), votes.weight)
    by_score = np.argsort(-best_scores(wins, 1.0), kind="stable")
    return {
        "ours": [str(item) for item in board.items[:n_top]],
        "rank_high": [int(high) for high in board.rank_high[:n_top]],
        "bradley_terry": votes.items[by_score[:n_top]].tolist(),
    }


def table(found: dict[str, Any], people: dict[str, Any]) -> str:
    """Both versions side by side, in Markdown; log-losses unless it says otherwise."""

    def now(name: str) -> str:
        gaps = people[name]["gaps"]
        one = gaps["one ranking (log-loss)"]["gap"]
        return f"{_short(one - gaps['predictor']['gap'])}, one ranking {_short(one)}"

    first, board = found["favourite"], found["leaderboard"]
    rows = [
        ("a plain fit, 100 films", FIRST["ml100"], now("ml100")),
        ("a plain fit, 200 films", FIRST["ml200"], now("ml200")),
        (
            "llmfao with 2 / 3 / 5 components",
            FIRST["llmfao"],
            " / ".join(_short(found["llmfao"][str(K)]) for K in NUMBERS)
            + f", one ranking {_short(found['llmfao']['one ranking'])}",
        ),
        (
            f"{FAVOURITE} over all others: its position, P({FAVOURITE} over {OTHER})",
            FIRST["favourite"],
            f"{first['position']:.0f}, {_short(first['probability'])}",
        ),
        ("people who hold one ranking each", FIRST["consistent"], now("consistent")),
        (
            "first on llmfao",
            FIRST["leaderboard"],
            f"{board['ours'][0]}, Bradley–Terry: {board['bradley_terry'][0]}",
        ),
    ]
    return side_by_side(rows)


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(arguments)
    people = load("real_people", KEPT)
    if people is None:
        parser.error("run `python -m benchmarks.real_people` first: its results are missing")
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = {
            "favourite": favourite(),
            "llmfao": more_components(given.data / "llmfao", given.seeds),
            "leaderboard": leaderboards(given.data / "llmfao"),
        }
    save("new_user", found, given.output, range(given.seeds))
    print(table(found, people))


if __name__ == "__main__":
    main()
