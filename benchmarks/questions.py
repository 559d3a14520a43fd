"""Adaptive questions against random ones.

How fast someone's weights become known when `next_pair` asks.

python -m benchmarks.questions [--people 80]    writes benchmarks/results/questions.json and .png,
    in a few minutes

People are drawn from planted models (Q = 30, K = 4, α = .2 each) that are known. Each is asked
twice, with pairs at random and with those of `next_pair`, and answers the same pair the same way.
The error is Σ_k |θ_k − its posterior mean|, mean over people. The ratio is how many adaptive
questions reach the error of 40 random ones, as a part of 40; its interval is a bootstrap over
people.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mallowmix as mm
from benchmarks.record import RESULTS, about, save
from mallowmix.numerics.randomness import generator

GOALS = {0.3: 0.75, 0.6: 0.5}
_STEP = 113


@dataclass(frozen=True)
class Setting:
    """What is planted, and how much is asked of whom."""

    n_items: int = 30
    n_components: int = 4
    alpha: float = 0.2
    phis: tuple[float, ...] = (0.3, 0.6)
    people: int = 80
    models: int = 4
    questions: int = 60
    reference: int = 40  # random questions whose error is to be reached
    seed: int = 0


def planted(setting: Setting, phi: float, number: int) -> mm.M4:
    """The model with this number: random reference rankings."""
    K, Q = setting.n_components, setting.n_items
    sigma = generator(setting.seed, _STEP, number).permuted(np.tile(np.arange(Q), (K, 1)), axis=1)
    return mm.M4(sigma, np.full(K, phi), np.full(K, setting.alpha), [f"i{i:02d}" for i in range(Q)])


class Person:
    """Someone with weights θ who answers a pair the same way whenever it is asked."""

    def __init__(self, model: mm.M4, setting: Setting, number: int) -> None:
        random = generator(setting.seed, _STEP + 1, number)
        self.model, self.theta = model, random.dirichlet(model.alpha)
        self.wins = random.random((model.n_items,) * 2) < np.einsum(
            "k,kij->ij", self.theta, model.beta()
        )
        low, high = np.triu_indices(model.n_items, 1)
        self.shuffled = random.permutation(np.column_stack([low, high]))

    def answer(self, i: int, j: int) -> tuple[int, int]:
        """(winner, loser); the order of the two makes no difference."""
        i, j = min(i, j), max(i, j)
        return (i, j) if self.wins[i, j] else (j, i)

    def errors(self, adaptive: bool, questions: int) -> list[float]:
        """The error before the first question and after each."""
        given: list[tuple[int, int]] = []
        out = [self.error(given)]
        for n in range(questions):
            i, j = self.most_informative(given) if adaptive else self.shuffled[n]
            given.append(self.answer(int(i), int(j)))
            out.append(self.error(given))
        return out

    def error(self, given: list[tuple[int, int]]) -> float:
        return float(
            np.abs(mm.weights(self.model, self.comparisons(given), n_jobs=1)[0] - self.theta).sum()
        )

    def most_informative(self, given: list[tuple[int, int]]) -> tuple[int, int]:
        (question,) = mm.next_pair(self.model, self.comparisons(given))
        return self.model.item_number(question.first), self.model.item_number(question.second)

    def comparisons(self, given: list[tuple[int, int]]) -> mm.Comparisons:
        winner, loser = np.array(given, int).reshape(-1, 2).T
        return mm.Comparisons.from_codes(
            np.zeros(len(given), int), winner, loser, None, self.model.items, ["someone"]
        )


def questions_needed(random: np.ndarray, adaptive: np.ndarray, reference: int) -> float:
    """How many adaptive questions reach the error of `reference` random ones, between two whole
    numbers where that is so.

    random, adaptive : (people, questions + 1) errors
    """
    goal, curve = random[:, reference].mean(), np.minimum.accumulate(adaptive.mean(axis=0))
    n = int(np.argmax(curve <= goal))
    if curve[n] > goal:
        return float("inf")
    return float(n - (goal - curve[n]) / (curve[n - 1] - curve[n])) if n else 0.0


def measure(setting: Setting, tell=print) -> dict[str, Any]:
    """A row for each φ."""
    rows = []
    for phi in setting.phis:
        rows.append(row := one_phi(setting, phi))
        tell(
            f"φ = {phi}: {row['ratio']:.2f} of the questions "
            f"({row['low']:.2f} to {row['high']:.2f})"
        )
    return {"about": about(), "setting": asdict(setting), "rows": rows}


def one_phi(setting: Setting, phi: float) -> dict[str, Any]:
    """Both curves and the ratio of questions for the same error."""
    models = [planted(setting, phi, number) for number in range(setting.models)]
    people = [Person(models[m % len(models)], setting, m) for m in range(setting.people)]
    random, adaptive = (
        np.array([p.errors(kind, setting.questions) for p in people]) for kind in (False, True)
    )
    again = generator(setting.seed, _STEP + 2).integers(0, len(people), (1000, len(people)))
    ratios = [
        questions_needed(random[rows], adaptive[rows], setting.reference) / setting.reference
        for rows in again
    ]
    low, high = np.minimum(np.quantile(ratios, [0.05, 0.95], method="nearest"), 99.0)
    return {
        "phi": phi,
        "ratio": min(
            questions_needed(random, adaptive, setting.reference) / setting.reference, 99.0
        ),
        "low": float(low),
        "high": float(high),
        "goal": GOALS.get(phi),
        "random": random.mean(axis=0).round(5).tolist(),
        "adaptive": adaptive.mean(axis=0).round(5).tolist(),
    }


def plot(result: dict[str, Any], file: Path) -> None:
    """Error against questions, a panel for each φ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, len(result["rows"]), sharey=True, squeeze=False)[0]
    reference = result["setting"]["reference"]
    for axis, row in zip(axes, result["rows"], strict=True):
        for kind, colour in (("random", "0.5"), ("adaptive", "C0")):
            axis.plot(row[kind], color=colour, label=kind)
        goal = row["random"][reference]
        axis.plot(
            [row["ratio"] * reference, reference],
            [goal, goal],
            "o--",
            color="0.3",
            markersize=4,
            linewidth=1,
        )
        axis.set(
            title=f"φ = {row['phi']}: {row['ratio']:.2f} of the questions",
            xlabel="questions",
            ylim=(0, None),
        )
    axes[0].set_ylabel("error in θ, Σ |difference|")
    axes[0].legend(frameon=False)
    figure.savefig(file, dpi=150)


def main() -> None:
    """Measure, keep, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=Setting.people)
    options = parser.parse_args()
    result = measure(Setting(people=options.people))
    save("questions", result, RESULTS)
    plot(result, RESULTS / "questions.png")


if __name__ == "__main__":
    main()
