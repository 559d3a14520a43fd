"""Rivals on the splits of real people: each at its best, and which of them training people choose.

A rival's settings and its number of components are chosen on training people, of whom the same is
held out as of the test people; so is the rival that is the one to beat. Where the largest number
of components is the best, larger ones are tried. Scores on test people choose nothing. With a
folder for finished rivals, a run that was interrupted goes on where it was.
"""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mallowmix as mm
from benchmarks import protocol
from mallowmix.assess.prepared_split import prepared_task
from mallowmix.assess.system_runs import tuned_for
from mallowmix.peers.component_choice import (
    Candidates,
    best_components,
    component_losses,
    has_components,
)
from mallowmix.peers.systems import SYSTEMS
from mallowmix.peers.validation import hold_out_of, predicted_rows
from mallowmix.typing import Array

COMPONENTS = (1, 2, 3, 5, 8)
LEVEL = 1.96  # standard errors either side: 95%


class Rival(NamedTuple):
    """One rival on one split.

    Attributes
    ----------
    losses : (people,) array
        The mean log-loss of each test person.
    validation : float
        The log-loss on training people, by which it may be chosen.
    n_components : int or None
        The number that they chose.
    """

    losses: Array
    validation: float
    n_components: int | None


def comparisons(people: Sequence[protocol.Answers], Q: int) -> mm.Comparisons:
    """Answers by number as comparisons of Q items, people numbered."""
    user = np.repeat(np.arange(len(people)), [len(winner) for winner, _ in people])
    winner, loser = (np.concatenate([each[side] for each in people]) for side in (0, 1))
    return mm.Comparisons.from_codes(user, winner, loser, None, range(Q), range(len(people)))


def run_rival(
    name: str, parts: protocol.Split, Q: int, candidates: Sequence[int], seed: int
) -> Rival:
    """Learn a rival as well as it can be learnt from the training people, and score it."""
    train = comparisons(parts.train, Q)
    task = prepared_task(train, comparisons(parts.given, Q), comparisons(parts.held_out, Q))
    hold_out = hold_out_of(task.given, task.held_out)
    peer: Any = tuned_for(SYSTEMS[name](), hold_out)
    several = has_components(peer)
    tried = Candidates(tuple(candidates) if several else (1,), further=several)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = component_losses(peer, task.train, tried, seed=seed, hold_out=hold_out)
        K = best_components(found)
        p = predicted_rows(peer.fit(task.train, K, seed=seed), task.given, task.held_out)
    held_out = task.held_out
    p = np.repeat(p, held_out.weight.astype(np.int64))
    person = np.repeat(held_out.user, held_out.weight.astype(np.int64))
    number = np.array([int(user) for user in held_out.users])
    losses = protocol.log_losses(p, number[person], len(parts.given))
    return Rival(losses, found[K], K if several else None)


def finished_or_run(
    name: str,
    *,
    folder: Path | None,
    split_name: str,
    parts: protocol.Split,
    Q: int,
    candidates: Sequence[int],
    seed: int,
) -> Rival:
    """The rival as an earlier run left it in the folder, or run now and left there."""
    file = folder and folder / f"{split_name}-{name}-{'_'.join(map(str, candidates))}.json"
    if file and file.exists():
        losses, validation, K = json.loads(file.read_text(encoding="utf-8"))
        return Rival(np.array(losses, dtype=np.float64), validation, K)
    found = run_rival(name, parts, Q, candidates, seed)
    if file:
        text = json.dumps([found.losses.tolist(), found.validation, found.n_components])
        file.write_text(text, encoding="utf-8")
    return found


def difference(theirs: Array, ours: Array) -> dict[str, float]:
    """Their log-loss less ours, paired by person, with a 95% interval over people."""
    gap = (theirs - ours)[np.isfinite(theirs) & np.isfinite(ours)]
    mean, half = float(gap.mean()), LEVEL * float(gap.std(ddof=1) / np.sqrt(len(gap)))
    return {"difference": mean, "low": mean - half, "high": mean + half}


def chosen(rivals: dict[str, Rival]) -> str:
    """The rival that training people choose."""
    return min(rivals, key=lambda name: rivals[name].validation)


def record(rivals: dict[str, Rival], ours: Array) -> dict[str, Any]:
    """What is kept of one split: our log-loss, each rival's, and whom training people choose."""
    table = {
        name: {
            "log_loss": float(np.nanmean(rival.losses)),
            "on_training_people": rival.validation,
            "n_components": rival.n_components,
            **difference(rival.losses, ours),
        }
        for name, rival in rivals.items()
    }
    return {"mallowmix": float(np.nanmean(ours)), "chosen": chosen(rivals), "rivals": table}
