"""The brute force: everything by counting over all rankings, written from the definitions, sharing
no code with the package.

Rankings are tuples of positions: sigma[i] is the place of item i, 0 is best. Numbers may be floats
or Fractions.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from scipy.integrate import quad
from scipy.stats import chi2

Ranking = tuple[int, ...]


def all_rankings(n_items: int) -> list[Ranking]:
    return list(permutations(range(n_items)))


@cache
def kendall_distance(sigma: Ranking, other: Ranking) -> int:
    """Pairs in different order, by a double loop."""
    count = 0
    for i in range(len(sigma)):
        for j in range(i + 1, len(sigma)):
            # plain numbers: the answer is kept, also for callers whose positions are not numpy's
            count += int((sigma[i] < sigma[j]) != (other[i] < other[j]))
    return count


def normaliser(n_items: int, phi):
    """Z: the sum of φ^d over all rankings."""
    identity = tuple(range(n_items))
    return _total(phi ** kendall_distance(sigma, identity) for sigma in all_rankings(n_items))


def mallows_pmf(reference: Ranking, phi) -> dict[Ranking, object]:
    """p(σ) = φ^d / Z for every ranking."""
    z = normaliser(len(reference), phi)
    return {
        sigma: phi ** kendall_distance(sigma, tuple(reference)) / z
        for sigma in all_rankings(len(reference))
    }


def expected_distance(n_items: int, phi):
    identity = tuple(range(n_items))
    return _total(
        p * kendall_distance(sigma, identity) for sigma, p in mallows_pmf(identity, phi).items()
    )


def beta(reference: Ranking, phi) -> list[list]:
    """β[i][j]: the summed probability of the rankings with i above j; 0 on the diagonal."""
    table = mallows_pmf(tuple(reference), phi)
    items = range(len(reference))
    return [
        [_total(p for sigma, p in table.items() if sigma[i] < sigma[j]) for j in items]
        for i in items
    ]


def insertion_probabilities(reference: Ranking, phi) -> dict[Ranking, object]:
    """What repeated insertion makes of a reference: the i-th item goes to place l of i with φ^{i−l}
    / (1 + φ + … + φ^{i−1}).
    """
    order = sorted(range(len(reference)), key=lambda item: reference[item])
    found = {(): 1}
    for i, item in enumerate(order, 1):
        h = sum(phi**power for power in range(i))
        found = {
            (*seq[: place - 1], item, *seq[place - 1 :]): p * phi ** (i - place) / h
            for seq, p in found.items()
            for place in range(1, i + 1)
        }
    return {tuple(seq.index(item) for item in range(len(seq))): p for seq, p in found.items()}


def kemeny_value(wins: Sequence[Sequence[float]], order: Sequence[int]) -> float:
    """How many wins an order agrees with."""
    return math.fsum(
        wins[order[r]][order[s]] for r in range(len(order)) for s in range(r + 1, len(order))
    )


def best_kemeny_value(wins: Sequence[Sequence[float]]) -> float:
    return max(kemeny_value(wins, order) for order in permutations(range(len(wins))))


def outcomes(n_items: int) -> list[tuple[int, int]]:
    """All ordered pairs (winner, loser)."""
    return list(permutations(range(n_items), 2))


def m4_probability(words, components, theta, mu):
    """Pr(one person's comparisons | θ), as told: ask a pair, pick a component, draw a ranking from
    it, report which is higher.

    components : a list of (σ, φ); mu : the probability of each unordered pair, by frozenset
    """
    tables = [mallows_pmf(tuple(sigma), phi) for sigma, phi in components]
    probability = 1
    for winner, loser in words:
        told = _total(
            weight * p
            for weight, table in zip(theta, tables, strict=True)
            for s, p in table.items()
            if s[winner] < s[loser]
        )
        probability = probability * mu[frozenset((winner, loser))] * told
    return probability


def m4_marginal(words, components, prior, mu):
    """The same with θ summed over a prior of finitely many points: a list of (probability, θ)."""
    return _total(weight * m4_probability(words, components, theta, mu) for weight, theta in prior)


def sequences(n_items: int, length: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Everything that one person could say in so many comparisons."""
    return product(outcomes(n_items), repeat=length)


def labelled_rows(comparisons) -> list[tuple]:
    """The rows of a `Comparisons` as (user, winner, loser, weight) with their labels, by plain
    indexing.
    """
    users, items = comparisons.users.tolist(), comparisons.items.tolist()
    return [
        (users[u], items[w], items[v], c)
        for u, w, v, c in zip(
            comparisons.user,
            comparisons.winner,
            comparisons.loser,
            comparisons.weight.tolist(),
            strict=True,
        )
    ]


def philox4x32(counters: Sequence[int], key: int) -> tuple[int, ...]:
    """Philox 4x32-10 in Python integers, as in the table of Salmon et al. (2011)."""
    x, k = list(counters), [key % 2**32, key >> 32]
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * x[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * x[2], 2**32)
        x = [high1 ^ x[1] ^ k[0], low1, high0 ^ x[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return tuple(x)


def chi_square_p(counts: Sequence[float], probabilities: Sequence[float]) -> float:
    """The chance of counts at least this far from their expectation. A test that asks p > ε fails
    by chance with rate ε.
    """
    total = sum(counts)
    assert not any(count for count, p in zip(counts, probabilities, strict=True) if not p), (
        "an impossible outcome was drawn"
    )
    terms = [
        (count - total * p) ** 2 / (total * p)
        for count, p in zip(counts, probabilities, strict=True)
        if p
    ]
    return float(chi2.sf(math.fsum(terms), len(terms) - 1))


def _total(terms):
    """An exact sum of Fractions, a correctly rounded sum of floats."""
    terms = list(terms)
    return math.fsum(terms) if any(isinstance(term, float) for term in terms) else sum(terms)


# ---- Lemma 2 and Algorithms 2 to 4, with dense matrices and plain loops ----


def dense_halves(blocks, halves, n_pairs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X and X' (pairs × people) and the people's weights, from blocks and their halves."""
    M = sum(len(block.starts) - 1 for block in blocks)
    X, X_prime, people = np.zeros((n_pairs, M)), np.zeros((n_pairs, M)), np.zeros(M)
    for block, (first, second) in zip(blocks, halves, strict=True):
        for m in range(len(block.starts) - 1):
            people[block.first_user + m] = block.user_weight[m]
            for row in range(block.starts[m], block.starts[m + 1]):
                X[block.pair[row], block.first_user + m] += first[row]
                X_prime[block.pair[row], block.first_user + m] += second[row]
    return X, X_prime, people


def dense_moment(X: np.ndarray, X_prime: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Ê = c X̃' X̃ᵀ with c = (Σn)(Σn') / Σnn'; nan where a row is empty in the half it is wanted
    from.
    """
    n, n_prime = X.sum(axis=0), X_prime.sum(axis=0)
    scale = (people @ n) * (people @ n_prime) / (people @ (n * n_prime))
    with np.errstate(invalid="ignore", divide="ignore"):
        return scale * (X_prime * people) @ X.T / np.outer(X_prime @ people, X @ people)


def dense_distances(E: np.ndarray, metric: str) -> np.ndarray:
    """All pairwise distances between the rows of a symmetric E, by the definitions."""
    n = len(E)
    if metric == "moment":
        return np.array([[E[i, i] - 2 * E[i, j] + E[j, j] for j in range(n)] for i in range(n)])
    return np.array([[math.sqrt(sum((E[i] - E[j]) ** 2)) for j in range(n)] for i in range(n)])


def algorithm2(
    E: np.ndarray, D: np.ndarray, distance: np.ndarray, least: float, counts, K: int
) -> tuple[list, list[int]]:
    """The printed Algorithm 2 with its neighbourhoods and its stop mended: solid angles, and the
    rows accepted.

    D has a direction a column; J_i are the rows at a distance of `least` or more; ties go to the
    larger count, then the first.
    """
    n, P = len(E), D.shape[1]
    V = E @ D
    J = [[j for j in range(n) if j != i and distance[i, j] >= least] for i in range(n)]
    q = [sum(all(V[j, r] <= V[i, r] for j in J[i]) for r in range(P)) / P for i in range(n)]
    accepted: list[int] = []
    for i in sorted(range(n), key=lambda i: (-q[i], -counts[i], i)):
        if len(accepted) < K and q[i] > 0 and all(i in J[a] for a in accepted):
            accepted.append(i)
    return q, accepted


def simplex_point(point: Sequence[float]) -> np.ndarray:
    """The nearest point of the simplex: Σ max(x − t, 0) = 1 solved for t by bisection."""
    x = np.asarray(point, float)
    low, high = x.min() - 1, x.max()
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.maximum(x - t, 0).sum() > 1 else (low, t)
    return np.maximum(x - t, 0)


def simplex_minimum(G: np.ndarray, c: np.ndarray) -> float:
    """The least ½ b G bᵀ − b·c over the simplex: the best stationary point on every face."""
    K, best = len(c), math.inf
    for size in range(1, K + 1):
        for face in combinations(range(K), size):
            S = list(face)
            kkt = np.block(
                [[G[np.ix_(S, S)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]]
            )
            b = np.linalg.lstsq(kkt, np.r_[c[S], 1.0], rcond=None)[0][:size]
            if (b >= -1e-12).all() and abs(b.sum() - 1) < 1e-9:
                best = min(best, 0.5 * b @ G[np.ix_(S, S)] @ b - b @ c[S])
    return best


def every_assignment(
    words: Sequence[tuple[int, int]], beta: np.ndarray, alpha: np.ndarray
) -> float:
    """Log p(w) of a mixed membership model: the sum over all K^N assignments of components, θ
    integrated out in closed form.

    p(z) = Γ(α₀) / Γ(α₀ + N) · Π_k Γ(α_k + n_k) / Γ(α_k), p(w | z) = Π_n β_(w_n),z_n.
    """
    K, total = len(alpha), 0.0
    start = math.lgamma(sum(alpha)) - math.lgamma(sum(alpha) + len(words))
    for z in product(range(K), repeat=len(words)):
        log_p = start + sum(math.log(beta[k, i, j]) for k, (i, j) in zip(z, words, strict=True))
        for k in range(K):
            log_p += math.lgamma(alpha[k] + z.count(k)) - math.lgamma(alpha[k])
        total += math.exp(log_p)
    return math.log(total)


def log_marginal(model, comparisons, m: int) -> float:
    """Log p(w) of user m under two components, ∫ Π_n (t β_1 + (1 − t) β_2)^weight Beta(t; α₁, α₂)
    dt, by integrals over t.
    """
    beta, (a, b) = model.beta(), model.alpha
    rows = np.flatnonzero(comparisons.user == m)
    first, second = (beta[k, comparisons.winner[rows], comparisons.loser[rows]] for k in (0, 1))

    def likelihood(t):
        return math.exp(comparisons.weight[rows] @ np.log(t * first + (1 - t) * second))

    # near t = 0 the variable s = t^a makes the density smooth (ds = a t^(a−1) dt), near t = 1 its
    # mirror
    left = quad(lambda s: likelihood(s ** (1 / a)) * (1 - s ** (1 / a)) ** (b - 1) / a, 0, 0.5**a)[
        0
    ]
    right = quad(
        lambda s: likelihood(1 - s ** (1 / b)) * (1 - s ** (1 / b)) ** (a - 1) / b, 0, 0.5**b
    )[0]
    return math.log(left + right) - (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
