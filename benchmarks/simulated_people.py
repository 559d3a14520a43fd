"""People of two kinds, simulated, and splits of their single comparisons.

`consistent_people`: each draws one ranking from one of three Mallows components and answers all
pairs by it. `mixed_people`: each has weights over the three components, and every answer follows a
ranking drawn anew. Of each person a fifth of the comparisons, at random, is held out; what is given
is also what is learnt from, so no person is new.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.protocol import Answers, Split

N_PEOPLE, N_ANSWERS, Q, K, PHI = 500, 40, 20, 3, 0.6
HELD_OUT = 0.2


def mallows(reference: NDArray[np.int64], phi: float, random: np.random.Generator) -> NDArray:
    """One ranking, best first, by repeated insertion."""
    order: list[int] = []
    for n, item in enumerate(reference):
        weight = phi ** np.arange(n, -1, -1.0)  # at the end, where the reference has it: φ⁰
        order.insert(int(random.choice(n + 1, p=weight / weight.sum())), int(item))
    return np.array(order)


def _pairs(random: np.random.Generator) -> Answers:
    first = random.integers(Q, size=N_ANSWERS)
    return first, (first + random.integers(1, Q, size=N_ANSWERS)) % Q


def _answer(order: NDArray[np.int64], first: int, second: int) -> tuple[int, int]:
    position = np.argsort(order)
    return (first, second) if position[first] < position[second] else (second, first)


def consistent_people(seed: int) -> list[Answers]:
    """People who hold one ranking each."""
    random = np.random.default_rng(seed)
    references = [random.permutation(Q) for _ in range(K)]
    people = []
    for _ in range(N_PEOPLE):
        order = mallows(references[random.integers(K)], PHI, random)
        rows = [_answer(order, i, j) for i, j in zip(*_pairs(random), strict=True)]
        people.append(tuple(np.array(rows).T))
    return people


def mixed_people(seed: int) -> list[Answers]:
    """People drawn from M4: weights from Dirichlet(.1, .1, .1), a new ranking for each answer."""
    random = np.random.default_rng(seed)
    references = [random.permutation(Q) for _ in range(K)]
    people = []
    for _ in range(N_PEOPLE):
        theta = random.dirichlet(np.full(K, 0.1))
        rows = [
            _answer(mallows(references[random.choice(K, p=theta)], PHI, random), i, j)
            for i, j in zip(*_pairs(random), strict=True)
        ]
        people.append(tuple(np.array(rows).T))
    return people


def split_answers(people: list[Answers], seed: int, held_out: float = HELD_OUT) -> Split:
    """Single comparisons held out at random; the people are learnt from too."""
    random = np.random.default_rng(seed)
    given, hidden_rows, person = [], [], []
    for number, (winner, loser) in enumerate(people):
        hidden = random.random(len(winner)) < held_out
        if hidden.any() and not hidden.all():
            given.append((winner[~hidden], loser[~hidden]))
            hidden_rows.append((winner[hidden], loser[hidden]))
            person.append(number)
    return Split(given, given, hidden_rows, np.array(person, np.int64))
