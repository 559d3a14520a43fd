"""`engine=`: wherever a pass over people runs, the answer is the same on every engine, and the
engine that is given is the one that runs it.
"""

import inspect
import pickle
import warnings

import numpy as np
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from command_line import run
from mallowmix.assess.diagnose.disagreement import disagreement, variance_parts
from mallowmix.engine import ThreadEngine
from mallowmix.engine.engine import add, run_map, run_reduce, states_of
from mallowmix.engine.out_of_core.disk import DiskEngine
from mallowmix.errors import DataError, MallowmixWarning, OptionError
from planted import planted

MODEL = planted(7, 2, 0.4, seed=5)
VOTES, THETA = MODEL.sample(90, np.arange(90) % 12 + 4, seed=6)
GROUPS = {"user": VOTES.users, "first": (THETA[:, 0] > 0.5).tolist()}
RATED = {
    "user": np.repeat(["u", "v"], 4),
    "item": ["i000", "i001", "i002", "i003"] * 2,
    "rating": [5, 4, 2, 1, 1, 2, 4, 5],
}
WANTED = (["u", "v", "w"], ["i005", "i006", "i004"])


class FarEngine(ThreadEngine):
    """As a cluster: steps, blocks and broadcasts travel as bytes, and the last block goes first."""

    def __init__(self):
        super().__init__(1)
        self.passes = set()

    def map(self, step, blocks, broadcast=None, *, progress=None):
        self.passes.add(step.name)
        sent = [pickle.dumps((step, block, broadcast)) for block in blocks]
        return [run_map(*pickle.loads(each)) for each in sent[::-1]][::-1]

    def reduce(self, step, blocks, broadcast=None, state=None, *, progress=None):
        self.passes.add(step.name)
        work = [(step, block, broadcast, old) for block, old in states_of(state, blocks)]
        sent = [pickle.dumps(each) for each in work]
        found = [run_reduce(*pickle.loads(each)) for each in sent[::-1]][::-1]
        total = None
        for part, _ in found:
            total = add(total, part)
        return total, [after for _, after in found]


def model_numbers(model):
    return [model.sigma, model.phi, model.alpha, np.array(repr(model.calibration))]


CALLS = {
    "fit": lambda data, **o: model_numbers(mm.fit(data, 2, predictor=False, **o)),
    "update": lambda data, **o: model_numbers(mm.update(MODEL, data, **o)),
    "calibrate": lambda data, **o: model_numbers(mm.calibrate(MODEL, data, **o)),
    "choose_k": lambda data, **o: repr(mm.choose_k(data, [1, 2], **o)),
    "diagnose": lambda data, **o: repr(mm.diagnose(MODEL, data, n_simulations=0, **o)),
    "simulations": lambda data, **o: repr(mm.diagnose(MODEL, data, n_simulations=1, **o)),
    "compare_groups": lambda data, **o: repr(
        mm.compare_groups(MODEL, data, GROUPS, n_permutations=19, **o)
    ),
    "compare": lambda data, **o: [
        (row.system, row.log_loss)
        for row in mm.compare(data, 2, systems=["m4-one", "coin"], **o).table
    ],
    "fit_prior": lambda data, **o: model_numbers(mm.fit_prior(MODEL, data, n_cycles=6, **o)),
    "vertices": lambda data, **o: model_numbers(mm.fit_prior(MODEL, data, "vertices", **o)),
    "discrete": lambda data, **o: list(
        vars(mm.fit_prior(MODEL, data, "discrete", n_points=5, **o)).values()
    ),
    "predict_ratings": lambda data, **o: mm.predict_ratings(MODEL, RATED, WANTED, **o).mean,
    "make_report": lambda data, **o: mm.make_report(
        MODEL, data, n_replicates=0, n_simulations=0, choose_k=False, **o
    ).html(),
    "weights": lambda data, **o: mm.weights(MODEL, data, **o).theta,
    "weight_intervals": lambda data, **o: mm.weight_intervals(MODEL, data, n_draws=20, **o).low,
    "predict": lambda data, **o: mm.predict(MODEL, data, [("i000", "i001")], **o).probability,
    "rank": lambda data, **o: mm.rank(MODEL, data, n_draws=20, **o).win_rate,
    "heldout": lambda data, **o: repr(mm.heldout(MODEL, data, "completion", **o)),
    "intervals": lambda data, **o: mm.intervals(MODEL, data, 10, **o).position_low,
}
STORED = (
    "fit",
    "update",
    "diagnose",
    "compare_groups",
    "weights",
    "weight_intervals",
    "predict",
    "rank",
    "heldout",
    "intervals",
)
IN_MEMORY = ("calibrate", "choose_k", "compare", "fit_prior", "make_report")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    pq.write_table(VOTES.to_arrow(), folder / "votes.parquet")
    return mm.store_comparisons(folder / "votes.parquet", folder / "blocks")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        yield


def same(one, other):
    if isinstance(one, str):
        return one == other
    return len(one) == len(other) and all(
        np.array_equal(a, b) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_engine_gives_the_same_answer_and_is_used(name, stored):
    expected, far = CALLS[name](VOTES, engine=ThreadEngine(2)), FarEngine()
    for data in (VOTES, stored) if name in STORED else (VOTES,):
        for engine in ("threads", DiskEngine(1), far):
            assert same(CALLS[name](data, engine=engine), expected), (data, engine)
    assert far.passes


def test_all_public_functions_with_passes_over_people_take_an_engine():
    """Who takes a number of threads runs passes; storing comparisons is no pass over people, and
    chains, each over a bounded sample in memory, run beside each other.
    """
    others = ("store_comparisons", "sample_posterior")
    for name in mm.__all__:
        found = getattr(mm, name)
        if inspect.isfunction(found) and name not in others:
            options = inspect.signature(found).parameters
            assert ("n_jobs" in options) <= ("engine" in options), name


@pytest.mark.parametrize("name", IN_MEMORY)
def test_what_needs_comparisons_in_memory_says_so(name, stored):
    with pytest.raises(DataError, match=f"in memory, and those in {stored.folder} stay on disk"):
        CALLS[name](stored)


def test_simulations_need_comparisons_in_memory(stored):
    with pytest.raises(OptionError) as found:
        mm.diagnose(MODEL, stored)
    assert found.value.option == "n_simulations"


def test_disagreement_is_the_average_over_rows():
    """By the rows themselves, not by counts of pairs; people count unequally."""
    people = mm.Comparisons.from_codes(
        VOTES.user,
        VOTES.winner,
        VOTES.loser,
        VOTES.weight,
        VOTES.items,
        VOTES.users,
        user_weight=np.arange(90) % 3 + 0.5,
    )
    weight, sums, total = people.weight * people.user_weight[people.user], np.zeros(3), 0.0
    for row in range(len(people)):
        parts = [part[people.winner[row], people.loser[row]] for part in variance_parts(MODEL)[1:]]
        sums, total = sums + weight[row] * np.array(parts), total + weight[row]
    found = disagreement(MODEL, people)
    assert found.variance == pytest.approx(sums.sum() / total, rel=1e-12)
    parts = (found.within_component, found.within_person, found.between_people)
    assert parts == pytest.approx(sums / sums.sum(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["diagnose", "compare-groups", "update"])
def test_commands_from_disk_print_the_same(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mm.save(MODEL, "model.m4")
    pq.write_table(VOTES.to_arrow(), "votes.parquet")
    rows = (
        f"{user},{first}\n" for user, first in zip(GROUPS["user"], GROUPS["first"], strict=True)
    )
    (tmp_path / "people.csv").write_text("user,first\n" + "".join(rows))
    more = {
        "diagnose": ["--n-simulations", "0"],
        "compare-groups": ["--attributes", "people.csv"],
        "update": ["-o", "new.m4"],
    }[command]
    line = [command, "model.m4", "votes.parquet", *more, "--json"]
    assert run(*line, "--memory", "500MB")[0] == run(*line)[0]
    assert not (tmp_path / "votes.blocks").exists()
