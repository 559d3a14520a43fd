"""Seconds and error beside the peers: every method on the same people, in the same run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import mallowmix as mm
from benchmarks.peers import PEERS, HeldOut, held_out, random_start_em, train
from benchmarks.planted import Setting, count_matrix, draw, error_of, truth_of
from benchmarks.record import Tell, about, repeated, timed
from mallowmix.model.fit_options import SpectralOptions

REFINE = ("none", "short", "full")


@dataclass(frozen=True)
class Sizes:
    """How many people, and for each size how long a peer may take."""

    setting: Setting = field(default_factory=Setting)
    users: Sequence[int] = (3_000, 30_000)
    caps: Sequence[float] = (40.0, 60.0)  # seconds of training
    repeats: Sequence[int] = (3, 1)  # of our own fits
    threads: int = 2
    peers: Sequence[str] = tuple(PEERS)


FULL = Sizes()
QUICK = Sizes(
    Setting(n_items=30, n_components=4, per_user=100), users=(300,), caps=(1.0,), repeats=(1,)
)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """One row a method and size."""
    runs = [
        _one_size(sizes, *each, tell)
        for each in zip(sizes.users, sizes.caps, sizes.repeats, strict=True)
    ]
    return {
        "about": about(),
        "setting": asdict(sizes.setting),
        "threads": sizes.threads,
        "runs": runs,
    }


def _one_size(sizes: Sizes, M: int, cap: float, repeats: int, tell: Tell) -> dict[str, Any]:
    comparisons, truth = draw(sizes.setting, M), truth_of(sizes.setting)
    people = held_out(
        draw(sizes.setting, min(500, max(2, M // 10)), others=True), sizes.setting.alpha
    )
    rows: list[dict[str, Any]] = []
    for row in _rows(sizes, comparisons, truth, people, cap, repeats):
        rows.append(row)
        tell(f"M = {M:,}: {row['method']}: {row['seconds']:.2f} s, error {row['error']:.5f}")
    return {
        "users": M,
        "comparisons": comparisons.n_comparisons,
        "held_out_users": people.given.shape[0],
        "rows": rows,
    }


def _rows(
    sizes: Sizes,
    comparisons: mm.Comparisons,
    truth: mm.M4,
    people: HeldOut,
    cap: float,
    repeats: int,
):
    for refine in REFINE:
        yield _ours(sizes, comparisons, truth, refine, repeats)
    for name in sizes.peers:
        yield _peer(sizes, comparisons, truth, people, name, cap)
    yield _projections(sizes, comparisons, truth)
    yield _random_starts(sizes, comparisons, truth, cap)


def _ours(
    sizes: Sizes, comparisons: mm.Comparisons, truth: mm.M4, refine: str, repeats: int
) -> dict[str, Any]:
    seconds, model = repeated(
        lambda: mm.fit(
            comparisons,
            truth.n_components,
            method=SpectralOptions(refine=refine),
            n_jobs=sizes.threads,
            predictor=False,
        ),
        repeats,
    )
    return {
        "method": refine,
        "kind": "ours",
        "seconds": seconds,
        "error": error_of(model.sigma, truth),
    }


def _peer(
    sizes: Sizes, comparisons: mm.Comparisons, truth: mm.M4, people: HeldOut, name: str, cap: float
) -> dict[str, Any]:
    """Training, then Algorithm 4; the data is in the peer's own form before the clock starts."""
    trainer = PEERS[name](
        count_matrix(comparisons),
        truth.n_components,
        sizes.setting.alpha,
        threads=sizes.threads,
        seed=sizes.setting.seed,
    )
    trained = train(trainer, people, cap=cap)
    seconds, found = timed(lambda: mm.components_from_topics(trained.topic_word))
    return {
        "method": name,
        "kind": "peer",
        "seconds": trained.seconds + seconds,
        "error": error_of(found.sigma, truth),
        "stopped": "at the cap" if trained.capped else "no longer improving",
        "held_out": trained.held_out,
    }


def _projections(sizes: Sizes, comparisons: mm.Comparisons, truth: mm.M4) -> dict[str, Any]:
    seconds, model = timed(
        lambda: mm.fit(
            comparisons,
            truth.n_components,
            method="projections",
            n_jobs=sizes.threads,
            predictor=False,
        )
    )
    return {
        "method": "projections",
        "kind": "peer",
        "seconds": seconds,
        "error": error_of(model.sigma, truth),
    }


def _random_starts(
    sizes: Sizes, comparisons: mm.Comparisons, truth: mm.M4, cap: float
) -> dict[str, Any]:
    seconds, run = timed(lambda: random_start_em(comparisons, sizes.setting, cap=cap))
    return {
        "method": "EM from random starts",
        "kind": "error only",
        "seconds": seconds,
        "error": error_of(run.components.sigma, truth),
    }
