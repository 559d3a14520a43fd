"""Left-to-right: the probability of all of a person's comparisons, one after the other, by a filter of particles.

A particle holds the components z of the comparisons seen so far, as counts n_k. The next comparison has the probability
p = Σ_k β_(w),k (α_k + n_k) / (α₀ + n), its own component is drawn from the summands, and log p(w) is the sum over comparisons of
the logarithm of the particles' weighted mean of p. (Wallach, Murray, Salakhutdinov and Mimno, ICML 2009; Buntine, ACML 2009.)
"""

import warnings
from typing import Any, Literal

import numba as nb
import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, map_step
from mallowmix.engine.selection import EngineName
from mallowmix.errors import FitWarning, OptionError, check_at_least, check_choice
from mallowmix.infer.heldout.heldout_scores import (
    NOBODY,
    Array,
    Heldout,
    Progress,
    by_person,
    floored_beta,
    log_mu_by_person,
    summary,
)
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key, philox, splitmix

Form = Literal["filter", "mean-of-products", "product-of-means"]
FORMS = ("filter", "mean-of-products", "product-of-means")
_FILTER, _PRODUCT_OF_MEANS = 0, 2  # numbers of forms inside kernels
_ORDER, _STEP = 62, 63


def left_to_right(
    model: M4,
    comparisons: Comparisons,
    *,
    form: Form = "filter",
    particles: int = 32,
    max_particles: int | None = None,
    tol: float = 1e-3,
    moves: int = 2,
    include_mu: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    engine: EngineName | Engine | None = None,
) -> Heldout:
    """The likelihood of all of everybody's comparisons, the weights θ integrated out over the model's Dirichlet prior.

    form : "filter" weighs the particles by what they foretold and resamples them when fewer than half are effective;
        "mean-of-products" never resamples: right on average, but its noise grows with the number of comparisons;
        "product-of-means" is what topic-model software often computes, the product over comparisons of plain means over
        particles: too high or too low by an amount that no number of particles removes
    particles, max_particles, tol : two independent runs are made and their probabilities averaged; both are repeated with twice
        the particles (up to 1,024 unless told, more for fewer than 4,096 comparisons) until they differ by less than `tol` a
        comparison, and so does the mean of logarithms from the logarithm of the mean: the noise of a person's run lowers its
        logarithm, which adds up over people though the differences cancel
    moves : Gibbs moves of randomly chosen earlier components, so many for each comparison; the filter makes them when it
        resamples, the other forms before every comparison. The work is O(particles · comparisons · K · (1 + moves))
    include_mu : add Σ weight · log μ, with μ estimated from the pair counts; else β alone

    A person's comparisons are taken in a random order that depends on the seed and the person's number alone. Weights: w
    comparisons, where a fraction v counts v towards n_k and v log p towards the answer. That is a convention, `completion`'s too,
    and another than the power p(w | θ)^v of `importance`: with weights of ½ throughout it can be .02 higher. β is kept in
    [10⁻⁴, 1 − 10⁻⁴], so that rankings followed without fail (φ = 0) give finite numbers. `user_weight` plays no part.
    """
    comparisons = comparisons.with_items(model.items)
    n = comparisons.per_user()
    most = max(particles, _most(float(n.sum()))) if max_particles is None else max_particles
    _check(form, particles, most, tol, moves)
    common = (floored_beta(model), model.alpha, FORMS.index(form), moves, as_key(seed))
    how: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "engine": engine}
    R = particles
    while True:
        runs = by_person(
            _two_runs, comparisons, (R, *common), name=f"{R} particles", width=2, **how
        )
        details = {"form": form, "particles": R, "moves": moves, **_agreement(runs, n)}
        settled = max(details["difference"], details["noise_bias"]) < tol
        if settled or most < 2 * R:
            break
        R *= 2
    if not settled:
        _warn(details, tol)
    score = (
        np.logaddexp(runs[:, 0], runs[:, 1])
        - np.log(2)
        + (log_mu_by_person(comparisons) if include_mu else 0.0)
    )
    return summary(np.column_stack([score, n]), NOBODY, details)


def _most(n_comparisons: float) -> int:
    """The particles that doubling may reach: 1024, or as many as make 2²² pairs of a particle and a comparison, up to 2¹⁶."""
    return int(np.clip(2**22 / max(n_comparisons, 1), 1024, 65_536))


def _check(form: str, particles: int, max_particles: int, tol: float, moves: int) -> None:
    check_choice("form", form, FORMS)
    check_at_least("particles", particles, 1)
    check_at_least("moves", moves, 0)
    if not tol > 0:
        raise OptionError(f"tol is {tol}; it must be above 0.")
    if max_particles < particles:
        raise OptionError(
            f"max_particles is {max_particles}, below particles, {particles}; raise it, or lower particles."
        )


def _agreement(runs: Array, n: Array) -> dict[str, float]:
    """How far two runs a and b are apart, per comparison: their sums, what noise takes from the logarithm, the standard error.

    (a − b)² / 2 estimates the variance v of a run's logarithm; that of the mean of both has the variance v/2 and is v/4 too low,
    which log cosh((a − b) / 2) estimates: the logarithm of the mean less the mean of the logarithms.
    """
    gap, total = runs[:, 0] - runs[:, 1], max(float(n.sum()), 1e-300)
    return {
        "difference": abs(float(gap.sum())) / total,
        "noise_bias": float(np.sum(np.logaddexp(gap / 2, -gap / 2) - np.log(2))) / total,
        "monte_carlo_error": float(np.sqrt(gap @ gap)) / 2 / total,
    }


def _warn(details: dict[str, Any], tol: float) -> None:
    warnings.warn(
        f"With {details['particles']} particles two runs differ by {details['difference']:.2g} a comparison and their noise "
        f"lowers the answer by about {details['noise_bias']:.2g}, not both below tol={tol:g}; raise max_particles, moves or tol.",
        FitWarning,
        stacklevel=4,
    )


@map_step("left to right")
def _two_runs(block: Block, broadcast: tuple[int, Array, Array, int, int, np.uint64]) -> Array:
    """(users, 2) log p(w) of each person by two independent runs."""
    R, beta, alpha, form, moves, key = broadcast
    return _run_people(
        block.starts, block.pair, block.weight, beta, alpha, R, form, moves, block.first_user, key
    )


@nb.njit(cache=True, nogil=True)
def _run_people(starts, pair, weight, beta, alpha, R, form, moves, first_user, key):
    M = len(starts) - 1
    out = np.zeros((M, 2))
    for m in range(M):
        user = first_user + m
        code, piece = _tokens(pair, weight, starts[m], starts[m + 1], user, key)
        for run in range(2):
            x0, x1, _, _ = philox(run, user, _STEP, R, key)
            state = (x0 << np.uint64(32)) | x1
            out[m, run] = _run(code, piece, beta, alpha, R, form, moves, state)
    return out


@nb.njit(cache=True, nogil=True)
def _tokens(pair, weight, first, last, user, key):
    """A person's comparisons one by one, pieces of at most 1, in a random order (Fisher and Yates)."""
    count = 0
    for row in range(first, last):
        count += int(np.ceil(weight[row]))
    code, piece, t = np.empty(count, np.int64), np.empty(count), 0
    for row in range(first, last):
        rest = weight[row]
        while rest > 0:
            code[t], piece[t] = pair[row], min(1.0, rest)
            rest -= piece[t]
            t += 1
    x0, x1, _, _ = philox(0, user, _ORDER, 0, key)
    state = (x0 << np.uint64(32)) | x1
    for t in range(count - 1, 0, -1):
        state, u = splitmix(state)
        s = int(u * (t + 1))
        code[t], code[s] = code[s], code[t]
        piece[t], piece[s] = piece[s], piece[t]
    return code, piece


@nb.njit(cache=True, nogil=True)
def _run(code, piece, beta, alpha, R, form, moves, state):
    """Log p(w) by R particles: W holds their weights, n their counts (with α added), z their components."""
    N, K = len(code), len(alpha)
    z, n, p = np.empty((R, N), np.int16), np.empty((R, K)), np.empty(K)
    W = np.full(R, 1.0 / R)
    for i in range(R):
        n[i] = alpha
    log_p, mass, moved = 0.0, alpha.sum(), 0
    for t in range(N):
        total = 0.0
        for i in range(R):
            if form != _FILTER and t > 0:
                state = _gibbs(z[i], n[i], p, code, piece, beta, t, moves, state)
            foretold, state = _draw(z[i], n[i], p, code, piece, beta, t, state)
            foretold /= mass  # p = Σ_k β_(w),k (α_k + n_k) / (α₀ + n)
            W[i] *= foretold if piece[t] == 1.0 else foretold ** piece[t]
            total += W[i]
        mass += piece[t]
        log_p += np.log(total)
        if form == _PRODUCT_OF_MEANS:
            W[:] = 1.0 / R
        else:
            W /= total
        # the effective number 1 / ΣW² is below R / 2
        if form == _FILTER and R * np.sum(W * W) > 2.0:
            source, state = ancestors(W, state)
            W[:] = 1.0 / R
            for i in range(R):
                if source[i] != i:
                    n[i], z[i, : t + 1] = n[source[i]], z[source[i], : t + 1]
            for i in range(R):
                n[i, z[i, t]] -= piece[t]
                # copies go apart at once
                _, state = _draw(z[i], n[i], p, code, piece, beta, t, state)
                state = _gibbs(
                    z[i], n[i], p, code, piece, beta, t + 1, moves * (t + 1 - moved), state
                )
            moved = t + 1
    return log_p


@nb.njit(cache=True, nogil=True)
def _draw(z, n, p, code, piece, beta, t, state):
    """Give token t a component, P(z = k) ∝ β_(w),k (α_k + n_k), and count it; the sum of the right-hand sides."""
    K, total = len(n), 0.0
    for k in range(K):
        p[k] = beta[code[t], k] * n[k]
        total += p[k]
    state, u = splitmix(state)
    u *= total
    k = 0
    while k < K - 1 and u >= p[k]:
        u -= p[k]
        k += 1
    z[t] = k
    n[k] += piece[t]
    return total, state


@nb.njit(cache=True, nogil=True)
def _gibbs(z, n, p, code, piece, beta, seen, moves, state):
    """Draw the components of randomly chosen ones of the tokens seen so far anew."""
    for _ in range(moves):
        state, u = splitmix(state)
        t = int(u * seen)
        n[z[t]] -= piece[t]
        _, state = _draw(z, n, p, code, piece, beta, t, state)
    return state


@nb.njit(cache=True, nogil=True)
def ancestors(W, state):
    """Systematic resampling: which particle each place is filled from; those that live on stay where they are.

    Particle i gets as many places as there are points (u + j) / R, j = 0 … R − 1, within its share of [0, 1).
    """
    R = len(W)
    copies, source = np.zeros(R, np.int64), np.arange(R)
    state, u = splitmix(state)
    i, reached = 0, W[0]
    for j in range(R):
        while i < R - 1 and (u + j) / R >= reached:
            i += 1
            reached += W[i]
        copies[i] += 1
    dead = 0
    for i in range(R):
        for _ in range(copies[i] - 1):
            while copies[dead] > 0:
                dead += 1
            source[dead] = i
            dead += 1
    return source, state
