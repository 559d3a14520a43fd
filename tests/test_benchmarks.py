"""The benchmarks run, measure what they say, and the page in docs/ is what their results give."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import psi

import mallowmix as mm
from benchmarks import (
    cpu_seconds,
    earlier_version,
    floor,
    foldin,
    growth,
    many_cores,
    many_people,
    page,
    page_tables,
    peers,
    readers,
    speed,
    starting,
    threads,
)
from benchmarks.__main__ import main, scripts
from benchmarks.planted import Setting, count_matrix, draw, error_of, truth_of
from benchmarks.real_data import with_either_held_out
from benchmarks.record import about, load, repeated, save, timed
from benchmarks.steps import seconds_by_step
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.engine import threads as threads_engine
from mallowmix.engine.engine import STEPS, MapStep
from mallowmix.errors import DataWarning
from mallowmix.infer.heldout.held_out_rows import split_block_rows
from mallowmix.numerics.randomness import as_key
from tools import compile_times

ROOT = Path(__file__).parents[1]
TINY = Setting(n_items=6, n_components=2, per_user=30, phi=0.1, alpha=0.2)


def silent(text: str) -> None:
    """Nobody is told."""


# ---- the data ----


def test_the_count_matrix_holds_every_comparison():
    comparisons = draw(TINY, 5)
    X = count_matrix(comparisons).toarray()
    slow = np.zeros((5, 36))
    for user, winner, loser, weight in zip(
        comparisons.user, comparisons.winner, comparisons.loser, comparisons.weight, strict=True
    ):
        slow[user, winner * 6 + loser] += weight
    np.testing.assert_array_equal(X, slow)
    assert X.sum() == 5 * 30


def test_other_people_are_other_people_of_the_same_model():
    assert draw(TINY, 4) == draw(TINY, 4)
    assert draw(TINY, 4, others=True) != draw(TINY, 4)


def test_the_error_does_not_depend_on_the_order_of_components():
    truth = truth_of(TINY)
    assert error_of(truth.sigma[::-1], truth) == 0
    assert error_of(5 - truth.sigma, truth_of(Setting(n_items=6, n_components=2))) > 0.3


# ---- the peers ----


def test_completion_equals_a_slow_twin():
    """θ folded in word by word, the other half scored word by word."""
    random = np.random.default_rng(0)
    B = random.dirichlet(np.ones(9), 2).T  # (9, 2)
    given, scored = random.integers(0, 4, (3, 9)), random.integers(1, 4, (3, 9))
    rows = [np.tile(np.arange(9), 3), np.arange(0, 28, 9)]
    halves = [
        sp.csr_array((half.ravel().astype(float), *rows), shape=(3, 9)) for half in (given, scored)
    ]
    total = 0.0
    for m in range(3):
        gamma = np.full(2, 0.3 + given[m].sum() / 2)
        for _ in range(30):
            new = np.full(2, 0.3)
            for w in range(9):
                r = B[w] * np.exp(psi(gamma))
                new += given[m, w] * r / r.sum()
            gamma = new
        theta = gamma / gamma.sum()
        total += sum(scored[m, w] * np.log(theta @ B[w]) for w in range(9))
    assert peers.completion(B, peers.HeldOut(*halves, 0.3)) == pytest.approx(
        total / scored.sum(), rel=1e-9
    )


def test_held_out_comparisons_are_halved():
    comparisons = draw(TINY, 20)
    people = peers.held_out(comparisons, 0.1)
    np.testing.assert_array_equal(
        (people.given + people.scored).toarray(), count_matrix(comparisons).toarray()
    )
    # of 600, each with probability ½: outside with probability below 1e-15
    assert 200 < people.given.sum() < 400


class Scripted:
    """A trainer whose held-out likelihood is known: it goes from a flat B to the true one in steps,
    then stays.
    """

    def __init__(self, shares):
        self.shares, self.step = shares, -1

    def advance(self):
        self.step += 1

    def topic_word(self):
        B = truth_of(TINY).ranking_matrix()
        share = self.shares[min(self.step, len(self.shares) - 1)]
        return share * B + (1 - share) * B.mean(axis=1, keepdims=True)


def test_training_ends_when_patience_does_and_keeps_the_best():
    people = peers.held_out(draw(TINY, 50, others=True), TINY.alpha)
    trained = peers.train(Scripted([0.2, 0.6, 1.0, 0.5]), people, cap=100)
    assert len(trained.held_out) == 3 + peers.PATIENCE and not trained.capped
    assert int(np.argmax(trained.held_out)) == 2
    np.testing.assert_allclose(trained.topic_word, truth_of(TINY).ranking_matrix())


def test_training_ends_at_its_cap_and_says_so():
    people = peers.held_out(draw(TINY, 50, others=True), TINY.alpha)
    trained = peers.train(Scripted([0.2, 0.6, 1.0]), people, cap=0)
    assert trained.capped and len(trained.held_out) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", list(peers.PEERS))
def test_each_peer_learns_an_easy_population(name):
    """Two opposite rankings of six items, φ = .1, 300 people who follow one of them: any topic
    model finds them.
    """
    truth = mm.M4(
        np.array([np.arange(6), np.arange(6)[::-1]]), np.full(2, 0.1), np.full(2, 0.1), np.arange(6)
    )
    comparisons = truth.sample(300, 60, seed=1).comparisons
    people = peers.held_out(truth.sample(50, 60, seed=2).comparisons, 0.1)
    trainer = peers.PEERS[name](count_matrix(comparisons), 2, 0.1, threads=1, seed=0)
    trained = peers.train(trainer, people, cap=1)
    assert trained.topic_word.shape == (36, 2)
    np.testing.assert_allclose(trained.topic_word.sum(axis=0), 1, rtol=1e-4)
    assert error_of(mm.components_from_topics(trained.topic_word).sigma, truth) <= 0.1


def test_em_from_random_starts_learns_an_easy_population():
    run = peers.random_start_em(draw(TINY, 300), TINY, cap=10)
    assert error_of(run.components.sigma, truth_of(TINY)) <= 0.1


# ---- the benchmarks ----


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every benchmark on a population so small that it takes seconds."""
    folder = tmp_path_factory.mktemp("results")
    few = {"users": (40,), "repeats": (1,)}
    save(
        "speed",
        speed.measure(
            speed.Sizes(TINY, caps=(0.0,), threads=1, peers=("tomotopy LDA",), **few), silent
        ),
        folder,
    )
    save("floor", floor.measure(floor.Sizes(TINY, products=2, **few), silent), folder)
    save("threads", threads.measure(threads.Sizes(TINY, **few), silent), folder)
    rows = many_cores.measure(TINY, 40, [1, 2])
    save("many_cores", {"about": about(), "comparisons": 1200.0, "rows": rows}, folder)
    one = {"--help": starting.cost(("--help",), folder)}
    first, times = {"model": {"seconds": 3.0, "kernels": 9}}, {"model": 5.0}
    save(
        "starting",
        {"about": about(), "commands": one, "first_fits": times, "compiling": first},
        folder,
    )
    save(
        "foldin",
        foldin.measure(foldin.Sizes(TINY, users=40, one=10, matrix=20, calls=3), silent),
        folder,
    )
    save(
        "readers",
        readers.measure(readers.Sizes(rows=2000, users=50, repeats=1, raters=50), silent),
        folder,
    )
    one = {"name": "few", "comparisons": 600, "n_components": 2, "error": 0.1}
    one |= {"product_seconds": 0.01, "seconds": 0.3}
    save("cpu_seconds", {"about": about(), "rows": [one]}, folder)
    sizes = growth.Sizes(
        TINY, comparisons=(600, 3000), items=(6,), comparisons_for_items=600, repeats=1
    )
    with pytest.MonkeyPatch.context() as patch:  # one process is started in a test of its own
        patch.setattr(
            growth,
            "_in_a_process",
            lambda folder, refine, repeats: growth.fit_once_warm(folder, refine, repeats),
        )
        patch.setattr("mallowmix.fitting.warm_up.warm", lambda: None)
        save("growth", growth.measure(sizes, silent), folder)
    return folder


@pytest.mark.slow
def test_speed_has_a_row_for_every_method(results):
    run = load("speed", results)["runs"][0]
    assert [row["method"] for row in run["rows"]] == [
        "none",
        "short",
        "full",
        "tomotopy LDA",
        "projections",
        "EM from random starts",
    ]
    assert all(row["seconds"] > 0 and 0 <= row["error"] <= 1 for row in run["rows"])
    assert run["rows"][3]["stopped"] == "at the cap" and run["comparisons"] == 1200


@pytest.mark.slow
def test_floor_tells_where_the_time_goes(results):
    run = load("floor", results)["runs"][0]
    assert {(row["method"], row["threads"]) for row in run["rows"]} == {
        (r, t) for r in speed.REFINE for t in (1, 2)
    }
    assert run["product_seconds"] > 0
    assert any(step.startswith("pass: ") for step in run["steps"]["none"])
    assert set(run["steps"]["none"]) < set(run["steps"]["full"]) | {"everything else"}


@pytest.mark.slow
def test_growth_has_every_point(results):
    result = load("growth", results)
    assert [(row["comparisons"], row["method"]) for row in result["by_comparisons"]] == [
        (n, refine) for n in (600, 3000) for refine in ("none", "full")
    ]
    assert all(row["items"] == 6 and row["seconds"] > 0 for row in result["by_items"])


@pytest.mark.slow
def test_threads_give_the_same_model(results):
    assert all(
        row["same_model"] and row["one"] > 0 < row["two"]
        for row in load("threads", results)["rows"]
    )


@pytest.mark.slow
def test_many_cores_give_the_same_model(results):
    result = load("many_cores", results)
    assert all(row["seconds"] > 0 for row in result["rows"])
    assert all(row["same_model"] for row in result["rows"] if row["method"] != "arithmetic")
    assert [row["cores"] for row in result["rows"]] == [1, 2] * 3
    assert (
        "| times one core, 1,200 comparisons | 1 core | 2 cores |"
        in page_tables.many_cores_table(result)
    )


def test_many_cores_are_beside_one_and_a_goal():
    rows = [
        {"method": method, "cores": n, "seconds": 24 / n**power, "same_model": True}
        for method, power in (("none", 1.0), ("full", 0.5))
        for n in (1, 16)
    ]
    none, full = page_tables.many_cores_table({"comparisons": 1e7, "rows": rows}).splitlines()[2:]
    assert "| 16 |" in none and none.endswith("met |") and "not met" not in none
    assert "| 4 |" in full and "not met" in full


@pytest.mark.slow
def test_foldin_has_many_people_and_one(results):
    result = load("foldin", results)
    assert [(row["estimate"], row["threads"]) for row in result["rows"]] == [
        (e, t) for e in ("map", "mean") for t in (1, 2)
    ]
    assert all(row["seconds"] > 0 for row in result["rows"]) and result["comparisons"] == 1200
    assert set(result["one"]["seconds"]) == {"map", "mean"} and result["one"]["solve_seconds"] > 0


@pytest.mark.slow
def test_reading_is_measured_beside_pyarrow(results):
    result = load("readers", results)
    assert set(result["seconds"]) == {"dictionary_encode", "numbers", "read_comparisons"}
    assert result["memory"]["ratings"] == 500 and result["memory"]["comparisons"] > 1000
    assert "| `read_comparisons`, checked and merged |" in page_tables.readers_table(result)


def test_the_foldin_table_by_hand():
    rows = [
        {"estimate": "map", "threads": n, "seconds": s, "product_seconds": p}
        for n, s, p in ((1, 90.0, 2.0), (2, 25.0, 1.0))
    ]
    one = {"comparisons": 50, "solve_seconds": 2.0, "seconds": {"map": 8.0, "mean": 1.0}}
    lines = page_tables.foldin_table({"users": 1000, "rows": rows, "one": one}).splitlines()
    assert lines[0] == "| products, M = 1,000 | 1 thread | 2 threads | goal |"
    assert lines[2] == "| `map` | 45 | 25 | ≤ 40: met |"
    assert lines[-2:] == ["| `map` | 4 | ≤ 3: not met |", "| `mean` | 0.5 | ≤ 3: met |"]


@pytest.mark.slow
def test_a_point_of_growth_runs_in_a_process_of_its_own(tmp_path):
    growth.store(draw(TINY, 20), TINY, tmp_path)
    row = growth._in_a_process(tmp_path, "none", 1)
    assert row["comparisons"] == 600 and row["users"] == 20 and row["seconds"] > 0


def test_people_come_back_from_disk_as_they_were(tmp_path):
    comparisons = draw(TINY, 20)
    growth.store(comparisons, TINY, tmp_path)
    again, K = growth.restore(tmp_path)
    assert K == 2
    for name in ("user", "winner", "loser", "weight", "user_weight"):
        np.testing.assert_array_equal(getattr(again, name), getattr(comparisons, name))


@pytest.mark.slow
def test_peak_memory_is_seen_after_it_is_gone():
    """100 MB held for a moment raise the peak by as much, and not what is held afterwards."""
    code = (
        "from benchmarks.growth import *; import numpy as np; np.ones(30_000_000); "
        "reset_peak(); a = resident_bytes();"
        "np.ones(12_500_000); print(peak_bytes() - a, resident_bytes() - a)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    peak, held = map(int, done.stdout.split())
    assert 95e6 < peak < 130e6 and held < 30e6


def test_the_slope_of_a_power_law_is_its_exponent():
    rows = [
        {"method": "full", "comparisons": n, "seconds": 3e-7 * n**1.25} for n in (1e3, 1e4, 1e6)
    ]
    assert growth.slope_of(
        [*rows, {"method": "none", "comparisons": 1, "seconds": 9}], "full"
    ) == pytest.approx(1.25)


def test_allowed_memory():
    assert growth.allowed_bytes({"items": 100, "comparisons": 1e6}, 10) == 40e6 + 100 * 9900 * 10


class Clock:
    """A clock that goes on when it is told to, and at no other time."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


def in_module(name, code, **known):
    """Functions that stand, by their file, in a module of mallowmix."""
    file = Path(mm.__file__).parent / name
    exec(compile(code, str(file), "exec"), known)
    return known


def test_steps_add_up_to_the_whole():
    """Nothing is counted twice, neither passes nor functions that call each other: the sum is the
    time that the call took.

    What numpy does counts for who calls it, a step for its pass and not for its module.
    """
    clock = Clock()
    spend = clock.pass_by  # as numpy would: no code of mallowmix
    inner = in_module("learn/inner.py", "def step(block, _):\n    spend(4)\n", spend=spend)
    blocks = make_blocks(draw(TINY, 3))
    middle = in_module(
        "learn/middle.py",
        "def middle(engine, n):\n"
        "    spend(16)\n"
        "    if n:\n"
        "        engine.map(step, blocks)\n"
        "        middle(engine, n - 1)\n",
        spend=spend,
        step=MapStep("some pass", inner["step"]),
        blocks=blocks,
    )
    outer = in_module(
        "fitting/outer.py",
        "def outer(engine):\n    spend(1)\n    middle(engine, 2)\n    spend(8)\n",
        spend=spend,
        middle=middle["middle"],
    )

    def call():
        spend(32)
        outer["outer"](ThreadEngine(1))

    assert seconds_by_step(call, clock) == {
        "learn.middle": 3 * 16,
        "everything else": 32,
        "pass: some pass": 2 * 4 * len(blocks),
        "fitting.outer": 9,
    }
    assert clock.now == 48 + 32 + 8 * len(blocks) + 9


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_passes_of_a_fit_have_the_names_of_their_steps(monkeypatch, n_jobs):
    """A second for every block that a step is given, and none for anything else: the passes are the
    whole.
    """
    clock, seen = Clock(), Counter()
    lock = Lock()

    def slow(run):
        def one(step, block, *rest):
            with lock:
                clock.pass_by(1)
                seen[f"pass: {step.name}"] += 1
            return run(step, block, *rest)

        return one

    for name in ("run_map", "run_reduce"):
        monkeypatch.setattr(threads_engine, name, slow(getattr(threads_engine, name)))
    found = seconds_by_step(
        lambda: mm.fit(draw(TINY, 200), 2, n_jobs=n_jobs, predictor=False), clock
    )
    passes = {name: seconds for name, seconds in found.items() if name.startswith("pass: ")}
    assert passes == seen and len(passes) > 3
    assert {name.removeprefix("pass: ") for name in passes} <= set(STEPS)
    assert sum(found.values()) == sum(passes.values()) == clock.now


def test_the_clock_takes_the_median_and_hides_warnings_about_data(recwarn):
    answers = iter(range(3))
    seconds, last = repeated(lambda: next(answers), 3)
    assert last == 2 and 0 <= seconds < 1
    timed(
        lambda: mm.fit(
            mm.Comparisons.from_arrays([1, 2], ["a", "b"], ["b", "a"]), 1, predictor=False
        )
    )
    assert not [warning for warning in recwarn if issubclass(warning.category, DataWarning)]


# ---- the page ----


def test_the_page_is_what_the_results_give():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run python -m benchmarks.page"


def test_a_benchmark_without_results_says_so(tmp_path):
    assert page.page(tmp_path).count("has not been run") == len(page.SECTIONS)


@pytest.mark.slow
def test_the_page_shows_ratios_and_no_seconds(results):
    text = page.page(results)
    assert "has not been run" not in text
    assert "at most " in text and "times as fast as" in text
    assert not re.search(r"\d m?s\b|seconds \|", text)


def test_the_speed_table_by_hand():
    rows = [
        {"method": "none", "kind": "ours", "seconds": 0.5, "error": 0.01},
        {"method": "short", "kind": "ours", "seconds": 5.0, "error": 0.25},
        {
            "method": "tomotopy LDA",
            "kind": "peer",
            "seconds": 20.0,
            "error": 0.2,
            "stopped": "at the cap",
        },
        {"method": "projections", "kind": "peer", "seconds": 10.0, "error": 0.3},
        {"method": "EM from random starts", "kind": "error only", "seconds": 1.0, "error": 0.125},
    ]
    lines = page_tables.speed_rows({"users": 3000, "rows": rows}).splitlines()
    assert lines[0] == "| M = 3,000 | error | times as fast as projections | goal |"
    assert lines[2] == "| `none` | 0.01 | 20 | ≥ 20 and a smaller error than any of them: met |"
    assert lines[3] == "| `short` | 0.25 | 2 | ≥ 3 and a smaller error than any of them: not met |"
    assert lines[4] == "| tomotopy LDA | 0.2 | at most 0.5 |  |"
    assert lines[6] == "| EM from random starts | 0.12 |  |  |"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.000123456, "0.000123"),
        (1.0, "1"),
        (1234.4, "1230"),
        (0.05, "0.05"),
        (123456, "123,000"),
    ],
)
def test_numbers_are_short_and_plain(value, text):
    assert page_tables.number(value) == text


# ---- the runner ----


def test_results_name_no_machine():
    text = json.dumps(about())
    assert set(about()) == {"python", "packages", "processor", "cores"}
    assert "/" not in text and "\\" not in text


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(
        SystemExit,
        match=r"There is no benchmark 'sped'; there are speed, floor, growth, .*, foldin, readers",
    ):
        main(["sped"])


def test_studies_that_run_alone_are_listed():
    assert "projections_recovery" in scripts()
    assert not {"speed", "peers", "growth", "__main__"} & set(scripts())


# ---- real people ----


def test_either_held_out_asks_all_but_what_is_told():
    """What is told and what is asked are everything; asked for two held-out items alone, it is
    less.
    """
    model = mm.M4([range(6)], [0.5], [1.0], range(6))
    votes = model.sample(20, 30, seed=1).comparisons
    found = with_either_held_out(model, votes)
    told = sum(
        split_block_rows(block, 0.5, "items", as_key(0))[0].sum() for block in make_blocks(votes)
    )
    assert 0 < told == votes.n_comparisons - found.n_comparisons
    strict = mm.heldout(model, votes, mm.CompletionOptions(split="items"))
    assert found.n_comparisons > strict.n_comparisons > 0


@pytest.mark.slow
def test_many_people_are_placed_and_predicted_from_disk(tmp_path):
    """Everyone gets an answer; the predictor is not the components alone, and costs more."""
    many_people.main(["--people", "150", "--per-person", "12", "--output", str(tmp_path)])
    row = json.loads((tmp_path / "many_people.json").read_text(encoding="utf-8"))
    assert row["people"] == 150 and row["comparisons"] == 1800
    assert row["members"] and 0 < row["mean_gap"] < 0.5
    assert row["ratio"] == pytest.approx(row["predictor_ms"] / row["components_ms"])
    assert row["weights_ms"] > 0 and row["fit_cpu_seconds"] > 0


def test_the_table_of_starting_by_hand():
    commands = {"--help": {"seconds": 0.5, "bytes": 3e7}, "show": {"seconds": 0.6, "bytes": 5.1e7}}
    result = {"commands": commands, "compiling": {"model": {"seconds": 8, "kernels": 7}}}
    for seconds, words in ((9.5, "| model | 19 | ≤ 10 CPU-seconds: met |"), (12, "not met")):
        result["first_fits"] = {"model": seconds, "model and predictor": 24}
        text = page_tables.starting_table(result)
        assert words in text and "| model and predictor | 48 |  |" in text
    assert "| `show` | 1.2 | 51 MB |" in text and "| model | 16 | 7 |" in text


def test_the_table_of_one_core_by_hand():
    mixed = {"name": "many", "comparisons": 1_000_010, "n_components": 10, "error": 0.00012}
    mixed |= {"product_seconds": 0.02, "seconds": 2.0, "seconds_with_predictor": 5.0}
    one = {"name": "one", "comparisons": 10, "n_components": 1, "error": 0.0}
    one |= {"product_seconds": 0.1, "seconds": 1.0, "bradley_terry_seconds": 0.5}
    text = page_tables.cpu_table({"rows": [mixed, one]})
    assert "| many | 10 | 100 | 250 | 0.00012 | ≤ 90: not met |" in text
    assert "| one | 1 | 10 |  | 0 |  |" in text and "one: 2 times Bradley–Terry." in text
    assert "first version" not in text
    text = page_tables.cpu_table({"rows": [mixed | {"earlier_seconds": 1.0}, one]})
    assert "| many | 50 | 5 | ≤ 4: not met |" in text and text.count("| one |") == 1


@pytest.mark.slow
def test_another_version_fits_in_a_process_of_its_own(tmp_path):
    """The one that is here stands in for it; a folder without one is refused in a sentence."""
    votes = draw(replace(TINY, per_user=20), 50)
    root = Path(cpu_seconds.__file__).parents[1]
    assert 0 < earlier_version.seconds_of(root, votes, 2) < 600
    (tmp_path / "src" / "mallowmix").mkdir(parents=True)
    with pytest.raises(SystemExit, match="no mallowmix in its folder"):
        earlier_version.seconds_of(tmp_path, votes, 2)


def test_ballots_are_a_case_of_their_own(tmp_path):
    folder = tmp_path / "irish"
    folder.mkdir()
    file = folder / "dublin-west-2002.soi"
    file.write_text("1500: 1,2,3,4\n900: 4,3,2,1\n7: 1,2\n", encoding="utf-8")
    case = cpu_seconds.ballots_case(tmp_path)
    assert case.name == "2,000 ballots" and case.n_components == 4
    assert case.comparisons.n_users == 2000 and case.comparisons.n_items == 4


@pytest.mark.slow
def test_cpu_seconds_of_a_small_population(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_seconds, "MIXED", replace(TINY, per_user=20))
    monkeypatch.setattr(cpu_seconds, "ONE", replace(TINY, n_components=1, per_user=2))
    cpu_seconds.main(["--comparisons", "1000"], tmp_path)
    mixed, one = load("cpu_seconds", tmp_path)["rows"]
    assert mixed["comparisons"] == 1000 and one["comparisons"] == 20_000
    for row in (mixed, one):
        assert row["seconds_with_predictor"] > row["seconds"] > row["product_seconds"] > 0
        assert 0 <= row["error"] < 0.5
    assert one["bradley_terry_seconds"] > 0 and "bradley_terry_seconds" not in mixed


@pytest.mark.slow
def test_a_command_is_measured_and_its_failure_is_told(tmp_path):
    large = bytes(400_000_000)  # what the process that measures has is not the command's
    found = starting.cost(("--help",), tmp_path)
    assert found["seconds"] > 0 and 1e7 < found["bytes"] < len(large)
    with pytest.raises(RuntimeError, match="show"):
        starting.cost(("show", "nothing.m4"), tmp_path)


def test_a_kernel_s_own_time_leaves_out_the_kernels_it_calls(monkeypatch):
    clock = iter([0.0, 1.0, 5.0, 7.0])  # the outer begins, the inner begins, ends, the outer ends
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    times = compile_times.Times()
    times.phase = "fit"
    times.start()
    times.start()
    times.end("inner")
    times.end("outer")
    assert times.seconds == {("fit", "inner"): 4.0, ("fit", "outer"): 3.0}
    assert times.of("fit") == (7.0, 2) and times.of("rank") == (0, 0)
