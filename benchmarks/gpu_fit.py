"""A short fit on a GPU with numpy, SciPy and CuPy alone.

Planted people drawn where they are learnt from, and `refine="short"`.

The passes are those of `mallowmix.engine.gpu.device_arrays`. What happens between them is small and
stands here without numba, because a machine with a GPU may have none of what `mallowmix` as
a whole needs.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaln

from mallowmix.engine.gpu import device_arrays as device
from mallowmix.engine.gpu.device_arrays import Arrays, Batch
from mallowmix.learn.spectral.subspace import (
    PairStatistics,
    Subspace,
    iterate_subspace,
    pair_statistics,
)

FLOOR = 1e-4
EXTRA = 8  # components of the subspace beyond K − 1
GRID = np.r_[0.005, np.linspace(0.01, 0.99, 197)]


class Planted(NamedTuple):
    """What people are drawn from: K rankings, one φ, one α for all components."""

    sigma: np.ndarray  # (K, Q)
    phi: float
    alpha: float


def planted(
    n_items: int, n_components: int, phi: float = 0.2, alpha: float = 0.1, seed: int = 0
) -> Planted:
    """Random reference rankings."""
    random = np.random.default_rng(seed)
    return Planted(np.stack([random.permutation(n_items) for _ in range(n_components)]), phi, alpha)


def chances(n_items: int, phi: float) -> np.ndarray:
    """(2Q − 1,) by gap −(Q−1) … Q−1.

    That an item wins which stands so many positions higher.
    """
    g = np.arange(1, n_items)
    win = (g + 1) / (1 - phi ** (g + 1)) - g / (1 - phi**g)
    return np.concatenate([(1 - win)[::-1], [0.5], win])


def draw(on: Arrays, truth: Planted, n_people: int, per_person: int, seed: int) -> Batch:
    """People with `per_person` comparisons each, drawn where `on` says."""
    xp, (K, Q) = on.xp, truth.sigma.shape
    random = xp.random.default_rng(seed)
    n = n_people * per_person
    upto = random.standard_gamma(truth.alpha, (n_people, K)).cumsum(axis=1)
    person = xp.arange(n) // per_person
    u = random.random(n) * upto[person, -1]
    z = xp.zeros(n, np.int32)
    for k in range(K - 1):
        z += u >= upto[person, k]
    i = random.integers(0, Q, n, dtype=np.int32)
    j = (i + random.integers(1, Q, n, dtype=np.int32)) % Q
    sigma, chance = on.take(truth.sigma), on.take(chances(Q, truth.phi))
    wins = random.random(n) < chance[sigma[z, j] - sigma[z, i] + Q - 1]
    pair = xp.where(wins, i * Q + j, j * Q + i).astype(np.int32)
    return Batch(Q, xp.arange(0, n + 1, per_person, dtype=np.int64), pair)


class Moment:
    """The signed moment of all batches, each of which stays where it is."""

    def __init__(self, on: Arrays, batches: list[Batch]) -> None:
        self.on, self.batches = on, batches
        counts = sum(device.batch_pair_counts(on, batch) for batch in batches)
        self.pairs: PairStatistics = pair_statistics(on.give(counts), batches[0].n_items)
        self.scales = [device.user_scale(on, batch) for batch in batches]
        self.index, self.value = on.take(self.pairs.index), on.take(self.pairs.value, np.float32)
        self.mass = sum(scale.mass for scale in self.scales)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """A V: one pass."""
        sent, total = self.on.take(V, np.float32), 0.0
        for batch, scale in zip(self.batches, self.scales, strict=True):
            part = device.signed_apply(self.on, batch, scale, self.index, self.value, sent)
            total = total + part.astype(np.float64)
        return self.on.give(total) / self.mass


def e_step(
    on: Arrays, batches: list[Batch], table: np.ndarray, alpha: np.ndarray, gamma: list[Any]
) -> tuple[np.ndarray, float]:
    """(Q², K) expected counts and the bound; γ of each batch is replaced in the list."""
    sent, prior, total, bound = on.take(table, np.float32), on.take(alpha), 0.0, 0.0
    for i, batch in enumerate(batches):
        counts, part, _, gamma[i] = device.batch_e_step(on, batch, sent, prior, gamma[i])
        total, bound = total + counts.astype(np.float64), bound + float(part)
    return on.give(total), bound


def fit_short(
    on: Arrays, batches: list[Batch], K: int, wait: Callable[[], None], seed: int = 0
) -> dict[str, Any]:
    """Spectral initialisations from pairs and from people, six variational steps from each.

    What the higher bound found, and seconds.
    """
    seconds: dict[str, float] = {}
    clock = _Clock(seconds, wait)
    moment = Moment(on, batches)
    clock("counts and scales")
    width = min(K - 1 + EXTRA, len(moment.pairs.share))
    start = np.random.default_rng(seed).standard_normal((len(moment.pairs.share), width))
    subspace = iterate_subspace(moment.apply, start, K - 1)
    clock("subspace")
    starts = {
        "pairs": initialise_from_pairs(subspace, moment.pairs, K, batches[0].n_items),
        "people": initialise_from_users(on, batches[0], moment, subspace, K, seed),
    }
    clock("starts")
    found = {name: _ascend(on, batches, *each, clock) for name, each in starts.items()}
    best = max(found, key=lambda name: found[name]["bounds"][-1])
    bounds = {name: each["bounds"] for name, each in found.items()}
    return found[best] | {
        "start": best,
        "bounds": bounds,
        "passes": subspace.passes,
        "seconds": seconds,
    }


def _ascend(
    on: Arrays, batches: list[Batch], sigma: np.ndarray, alpha: np.ndarray, clock: "_Clock"
) -> dict[str, Any]:
    """Six steps of variational EM from one start."""
    K, n_people = len(alpha), sum(len(batch.starts) - 1 for batch in batches)
    phi, gamma, bounds = np.full(K, 0.8), [None] * len(batches), []
    normaliser = n_people * float(gammaln(alpha.sum()) - gammaln(alpha).sum())
    for _ in range(6):
        counts, bound = e_step(on, batches, beta_table(sigma, phi), alpha, gamma)
        bounds.append(bound + normaliser)
        clock("people")
        sigma, phi = update_components(counts, sigma)
        clock("components")
    return {"sigma": sigma, "phi": phi, "bounds": bounds}


class _Clock:
    """Adds the seconds since the last call to a name."""

    def __init__(self, seconds: dict[str, float], wait: Callable[[], None]) -> None:
        self.seconds, self.wait, self.last = seconds, wait, time.perf_counter()

    def __call__(self, name: str) -> None:
        self.wait()
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.last = now


def initialise_from_pairs(
    subspace: Subspace, pairs: PairStatistics, K: int, n_items: int
) -> tuple[np.ndarray, np.ndarray]:
    """Corners among the embedded pairs, every pair as their mixture, items by their wins.

    Rankings and shares.
    """
    F = (
        subspace.vectors[:, : K - 1]
        * np.sqrt(np.maximum(subspace.values[: K - 1], 0))
        / np.sqrt(pairs.share)[:, None]
    )
    q = pairs.win
    often = pairs.count >= 0.2 * np.median(pairs.count[pairs.count > 0])
    ahead, behind = np.sqrt((1 - q) / q)[often, None], np.sqrt(q / (1 - q))[often, None]
    corners = _corners(np.concatenate([F[often] * ahead, -F[often] * behind]), K)
    share, _ = nnls(
        np.vstack([corners.T / np.abs(corners).max(), np.ones(K)]), np.r_[np.zeros(K - 1), 1.0]
    )
    share = np.maximum(share / share.sum(), 0.2 / K)
    share /= share.sum()
    system = np.vstack([(share[:, None] * corners).T, share])
    beta = np.linalg.lstsq(
        system, np.column_stack([F * np.sqrt(q * (1 - q))[:, None], q]).T, rcond=1e-10
    )[0]
    low, high = np.triu_indices(n_items, 1)
    sigma = np.empty((K, n_items), np.int64)
    for k in range(K):
        wins = np.full((n_items, n_items), 0.5)
        wins[low, high] = np.clip(beta[k], 0, 1)
        wins[high, low] = 1 - wins[low, high]
        sigma[k] = np.argsort(np.argsort(-wins.sum(axis=1), kind="stable"), kind="stable")
    return sigma, share


def initialise_from_users(
    on: Arrays,
    batch: Batch,
    moment: Moment,
    subspace: Subspace,
    K: int,
    seed: int,
    most: int = 100_000,
) -> tuple[np.ndarray, np.ndarray]:
    """People clustered by the mean embedding of their comparisons, whitened.

    Each cluster's counts give a ranking.
    """
    xp, Q, M = on.xp, batch.n_items, min(most, len(batch.starts) - 1)
    rows = int(batch.starts[M])
    some = Batch(Q, batch.starts[: M + 1], batch.pair[:rows])
    W = moment.value[:, None] * on.take(subspace.vectors[:, : K - 1], np.float32)[moment.index]
    N = on.sparse.csr_matrix((xp.ones(rows, np.float32), some.pair, some.starts), shape=(M, Q * Q))
    size = xp.maximum(xp.diff(some.starts), 1)[:, None]
    embedding = (
        (N @ W) / size / on.take(np.sqrt(np.maximum(subspace.values[: K - 1], 1e-12)), np.float32)
    )
    label = cluster(on, embedding, K, seed)
    of_row = label[device.user_of_row(on, some)]
    wins = (
        on.give(xp.bincount(of_row * (Q * Q) + some.pair, minlength=K * Q * Q))
        .reshape(K, Q, Q)
        .astype(np.float64)
    )
    total = wins + wins.transpose(0, 2, 1)
    fraction = np.divide(wins, total, out=np.full_like(wins, 0.5), where=total > 0)
    order = insertion_search(wins, np.argsort(-fraction.sum(axis=2), axis=1, kind="stable"))
    share = np.maximum(np.bincount(on.give(label), minlength=K) / M, 0.2 / K)
    return np.argsort(order, axis=1), share / share.sum()


def cluster(on: Arrays, points: Any, K: int, seed: int, tries: int = 3) -> Any:
    """The k-means cluster of each point.

    The best of a few tries, each from centres drawn far apart (k-means++).
    """
    xp, random, best = on.xp, np.random.default_rng(seed), None
    for _ in range(tries):
        centres = points[int(random.integers(len(points)))][None]
        for _ in range(K - 1):
            upto = xp.cumsum(_squares(xp, points, centres).min(axis=1))
            centres = xp.concatenate(
                [centres, points[int(xp.searchsorted(upto, random.random() * upto[-1]))][None]]
            )
        for _ in range(50):
            label = _squares(xp, points, centres).argmin(axis=1)
            sums = xp.stack(
                [xp.bincount(label, points[:, j], K) for j in range(points.shape[1])], axis=1
            )
            centres = (sums / xp.maximum(xp.bincount(label, minlength=K), 1)[:, None]).astype(
                np.float32
            )
        apart = _squares(xp, points, centres)
        inertia = float(apart.min(axis=1).sum())
        if best is None or inertia < best[0]:
            best = (inertia, apart.argmin(axis=1))
    return best[1]  # type: ignore[index]


def _squares(xp: Any, points: Any, centres: Any) -> Any:
    """(points, centres) squared distances."""
    apart = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return xp.maximum(apart, 0)


def _corners(rows: np.ndarray, K: int, smooth: int = 15) -> np.ndarray:
    """Successive projections, each corner the mean of the rows furthest along its direction."""
    smooth = min(smooth, max(1, len(rows) // (4 * K)))
    points = np.column_stack([rows, np.ones(len(rows))])
    rest, out = points.copy(), np.empty((K, points.shape[1]))
    for k in range(K):
        furthest = np.argsort(-(rest @ rest[np.argmax((rest**2).sum(axis=1))]), kind="stable")[
            :smooth
        ]
        out[k], unit = points[furthest].mean(axis=0), rest[furthest].mean(axis=0)
        unit /= max(float(np.linalg.norm(unit)), 1e-300)
        rest -= np.outer(rest @ unit, unit)
    return out[:, :-1]


def beta_table(sigma: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """(Q², K) β of every ordered pair, kept away from 0 and 1."""
    K, Q = sigma.shape
    components = [
        chances(Q, phi[k])[(sigma[k][None, :] - sigma[k][:, None] + Q - 1).ravel()]
        for k in range(K)
    ]
    return np.clip(np.column_stack(components), FLOOR, 1 - FLOOR)


def update_components(counts: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The M-step: rankings by insertion search on the expected counts, φ by maximum likelihood over
    gaps.
    """
    K, Q = sigma.shape
    wins = counts.T.reshape(K, Q, Q)
    sigma = np.argsort(insertion_search(wins, np.argsort(sigma, axis=1)), axis=1)
    grid = np.array([np.log(np.clip(chances(Q, phi), FLOOR, 1 - FLOOR)) for phi in GRID])
    gaps = sigma[:, None, :] - sigma[:, :, None] + Q - 1
    by_gap = np.stack([np.bincount(gaps[k].ravel(), wins[k].ravel(), 2 * Q - 1) for k in range(K)])
    return sigma, np.array([_peak(grid @ by_gap[k]) for k in range(K)])


def _peak(value: np.ndarray) -> float:
    """The best of the grid, and the top of the parabola through it and its neighbours."""
    i = int(np.clip(np.argmax(value), 1, len(GRID) - 2))
    a, b, _ = np.polyfit(GRID[i - 1 : i + 2] - GRID[i], value[i - 1 : i + 2] - value[i], 2)
    return (
        float(np.clip(GRID[i] - b / (2 * a), GRID[i - 1], GRID[i + 1]))
        if a < 0
        else float(GRID[np.argmax(value)])
    )


def insertion_search(wins: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(K, Q) orders: items move to their best position, in all components, until none helps."""
    K, Q = order.shape
    margin = wins - wins.transpose(0, 2, 1)
    least, order, every = 1e-9 * np.abs(margin).max(axis=(1, 2)), order.copy(), np.arange(K)
    for _ in range(100):
        moved = False
        for item in range(Q):
            position = np.argmax(order == item, axis=1)
            # of margins over the items up to each position
            upto = np.cumsum(margin[every[:, None], item, order], axis=1)
            here = upto[every, position]
            gain = here[:, None] - np.where(
                np.arange(Q) < position[:, None], upto - margin[every[:, None], item, order], upto
            )
            best = np.argmax(gain, axis=1)
            for k in np.flatnonzero(gain[every, best] > least):
                rest = np.delete(order[k], position[k])
                order[k], moved = np.insert(rest, best[k], item), True
        if not moved:
            break
    return order
