"""One refit in its own process, so that no vote waits for it: `python -m mallowmix.web.worker`.

The request comes as one line of JSON on stdin (the database's URL may hold a password, which must
not be an argument); progress and the outcome go as lines of JSON to stdout.
"""

import base64
import contextlib
import json
import os
import sys
import time
import warnings
from typing import IO, Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixError
from mallowmix.fitting.fit import fit
from mallowmix.infer.predict import predict_each
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.model_file import dumps, loads
from mallowmix.web.field_names import in_fields
from mallowmix.web.vote_store import Archive, comparisons_of_votes, person_name

_REPORT_EVERY = 0.25  # seconds between two words about progress


def run_worker() -> None:
    """Read the request, fit, and print the outcome, or why it failed."""
    request = json.loads(sys.stdin.readline())
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    with contextlib.suppress(OSError, AttributeError):
        os.nice(request["nice"])
    warnings.simplefilter("ignore")
    try:
        outcome = refit(request["database"], request["components"], _progress(answers))
    except MallowmixError as error:
        outcome = {"failed": in_fields(error)}
    _print_line(outcome, answers)


def refit(database: str, components: int | str, progress: Any = None) -> dict[str, Any]:
    """Learn from all votes; return the row of the refit, with the model file in base64."""
    archive, start = Archive(database), time.monotonic()
    try:
        rows, names = archive.rows()
        before = archive.newest_model()
    finally:
        archive.close()
    if not len(rows):
        return {"failed": "There are no votes to learn from yet."}
    votes = comparisons_of_votes(rows, names)
    model = _fitted(votes, components, progress)
    predicted, of = _predicted(before, rows, names)
    return {
        "last_vote": int(rows[-1, 0]),
        "votes": len(rows),
        "people": votes.n_users,
        "components": model.n_components,
        "seconds": round(time.monotonic() - start, 3),
        "predicted": predicted,
        "predicted_of": of,
        "model": base64.b64encode(dumps(model)).decode(),
    }


def _fitted(votes: Comparisons, components: int | str, progress: Any) -> FittedModel:
    """Fit K components, or one where there are too few people for more."""
    K: Any = components if components == "auto" else min(int(components), votes.n_users)
    try:
        return fit(votes, K, seed=0, n_jobs=1, progress=progress)
    except MallowmixError:
        return fit(votes, 1, seed=0, n_jobs=1, progress=progress)


def _predicted(
    before: tuple[int, int, bytes] | None, rows: Any, names: dict[int, str]
) -> tuple[float | None, int]:
    """Return the share of later votes that the previous model predicts from the earlier ones."""
    if before is None:
        return None, 0
    _, last, data = before
    try:
        model = loads(data)
    except MallowmixError:  # a damaged file: the server has said so at its start
        return None, 0
    known = set(map(str, model.items.tolist()))
    ids = [number for number, name in names.items() if name in known]
    both = np.isin(rows[:, 2], ids) & np.isin(rows[:, 3], ids)
    old, new = rows[both & (rows[:, 0] <= last)], rows[both & (rows[:, 0] > last)]
    if not len(new):
        return None, 0
    later = _later_half(new[:, 1])
    earlier, new = np.concatenate([old, new[~later]]), new[later]
    if not len(earlier):
        return None, 0
    given = comparisons_of_votes(earlier, names)
    users = [person_name(number) for number in new[:, 1].tolist()]
    pairs = [(names[winner], names[loser]) for winner, loser in new[:, 2:].tolist()]
    chance, _ = predict_each(model, given, users, pairs, n_jobs=1)
    return float(np.mean((chance > 0.5) + 0.5 * (chance == 0.5))), len(new)


def _later_half(person: Any) -> Any:
    """Return which rows are in the later half of their person's, the middle one included."""
    _, number, counts = np.unique(person, return_inverse=True, return_counts=True)
    order = np.argsort(number, kind="stable")
    rank = np.empty(len(person), np.int64)
    rank[order] = np.arange(len(person)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank >= counts[number] // 2


def _progress(answers: IO[str]) -> Any:
    last = [0.0]

    def report(step: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] > _REPORT_EVERY:
            last[0] = time.monotonic()
            _print_line({"step": step, "done": int(done), "total": int(total)}, answers)

    return report


def _print_line(line: dict[str, Any], answers: IO[str]) -> None:
    print(json.dumps(line), flush=True, file=answers)


if __name__ == "__main__":
    run_worker()
