"""How sure a fit says it is of real people: the first version's faults, and the same today.

python -m benchmarks.how_sure --data DIR
    writes benchmarks/results/how_sure.json, and prints the table

DIR holds irish/ and llmfao/. Measured: the number of components that `fit` and `choose_k` take for
the ballots of Dublin West, for 3,000 made-up rankings from two components, and for the votes of
llmfao; how many positions of the ballots' components are certain (a 90% interval of one position);
and how many positions wide a person's own ranges are, of the voters of llmfao with 20 votes or
more. What stands under "first version" was measured on that version, on data of the same kind.
Whether the seed decides is measured by `benchmarks.seeds_agree`.
"""

import warnings
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.first_version import parser_of, side_by_side
from benchmarks.record import save
from mallowmix.model.random_model import random_model

LEVEL = 0.9
LEAST_VOTES = 20
FIRST = {
    "ballots": "11; 10, 9, 6",
    "planted": "4, two of them the same",
    "votes": "several, each 99 of 100 sure",
    "certain": "85%",
    "width": "0",
}


def planted_rankings(n_voters: int = 3000) -> mm.Comparisons:
    """Whole rankings of 8 items, one a person, from two random components."""
    return mm.sample_profile(random_model(8, 2, seed=3), n_voters, seed=1).comparisons()


def numbers(comparisons: mm.Comparisons) -> tuple[mm.FittedModel, list[int | None]]:
    """A plain fit, and how many components `fit` and `choose_k` take."""
    model = mm.fit(comparisons)
    return model, [model.n_components, mm.choose_k(comparisons).k]


def certain_positions(model: mm.FittedModel, comparisons: mm.Comparisons) -> float:
    """The share of positions in components whose interval is one position."""
    found = mm.intervals(model, comparisons, level=LEVEL)
    return float(np.mean(found.position_low == found.position_high))


def own_width(model: mm.FittedModel, comparisons: mm.Comparisons) -> float:
    """How many positions wide the ranges of items are for a person, mean over all."""
    votes = np.bincount(comparisons.user, comparisons.weight, comparisons.n_users)
    people = comparisons.take_users(np.flatnonzero(votes >= LEAST_VOTES))
    ranked = mm.rank(model, people, level=LEVEL)
    return float(np.mean([row.high - row.low for rows in ranked for row in rows]))


def measure(ballots: mm.Comparisons, votes: mm.Comparisons) -> dict[str, Any]:
    """All rows."""
    model, by_ballots = numbers(ballots)
    arena, by_votes = numbers(votes)
    return {
        "ballots": by_ballots,
        "unstable": list(model.report.unstable),
        "planted": numbers(planted_rankings())[1],
        "votes": by_votes,
        "certain": certain_positions(model, ballots),
        "width": own_width(arena, votes),
    }


def table(found: dict[str, Any]) -> str:
    """Both versions side by side, in Markdown."""

    def both(name: str) -> str:
        return " and ".join("cannot tell" if k is None else str(k) for k in found[name])

    sure = f"{found['certain']:.0%} of positions, {len(found['unstable'])} components unstable"
    rows = [
        ("components of ballots, by `fit` and by `choose_k`", FIRST["ballots"], both("ballots")),
        ("of rankings from two components", FIRST["planted"], both("planted")),
        ("of 124 people's votes", FIRST["votes"], both("votes")),
        ("positions of the ballots' components that are certain", FIRST["certain"], sure),
        (
            "a person's own ranges after 20 votes, in positions",
            FIRST["width"],
            f"{found['width']:.1f}",
        ),
    ]
    return side_by_side(rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep and print."""
    given = parser_of(__doc__).parse_args(arguments)
    ballots = mm.read(given.data / "irish" / "dublin-west-2002.soi").comparisons
    arena = given.data / "llmfao" / "crowd-comparisons.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(ballots, mm.read(arena, ties="drop").comparisons)
    save("how_sure", found, given.output)
    print(table(found))


if __name__ == "__main__":
    main()
