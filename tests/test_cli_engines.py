"""`mallowmix fit` with --engine, --memory, --scheduler, --cache and several files."""

import contextlib
import shutil

import pyarrow.parquet as pq
import pytest

from command_line import run
from mallowmix.engine.out_of_core.store import store_comparisons
from mallowmix.model.model_file import load
from planted import planted


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with votes in three files and the model of them, which each test gets a copy of."""
    folder = tmp_path_factory.mktemp("made")
    table = planted(6, 2, 0.2).sample(60, 20, seed=1).comparisons.to_arrow()
    (folder / "votes").mkdir()
    for i in range(3):
        pq.write_table(
            table.slice(i * len(table) // 3, len(table) // 3 + 1),
            folder / "votes" / f"part-{i}.parquet",
        )
    with contextlib.chdir(folder):
        run("fit", "votes", "-k", 2, "--refine", "short", "-o", "expected.m4")
    return folder


@pytest.fixture
def votes(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["votes", "--memory", "300MB"],
        ["votes", "--engine", "disk"],
        ["votes", "--engine", "threads"],
        ["votes/part-0.parquet", "votes/part-1.parquet", "votes/part-2.parquet"],
        ["votes/*.parquet", "--engine", "disk", "--n-jobs", "1"],
    ],
)
def test_the_same_file_from_every_place(votes, words):
    run("fit", *words, "-k", 2, "--refine", "short", "-o", "model.m4")
    assert (votes / "model.m4").read_bytes() == (votes / "expected.m4").read_bytes()
    # sorted rows are removed
    assert sorted(file.name for file in votes.iterdir()) == ["expected.m4", "model.m4", "votes"]


@pytest.mark.slow
def test_a_folder_that_was_named_is_kept_and_used_again(votes):
    for _ in range(2):
        run(
            "fit", "votes", "-k", 2, "--cache", "sorted", "--refine", "none", "-o", "model.m4", "-q"
        )
    assert (votes / "sorted" / "about.json").exists()
    pq.write_table(
        pq.read_table(votes / "votes" / "part-0.parquet").slice(0, 5),
        votes / "votes" / "part-0.parquet",
    )
    _, said = run("fit", "votes", "-k", 2, "--cache", "sorted", code=1)
    assert (
        "sorted holds other comparisons than votes/part-0.parquet and the other files now do"
        in " ".join(said.split())
    )


@pytest.mark.slow
def test_a_folder_that_was_there_before_is_not_removed_and_one_left_by_a_kill_is(votes):
    store_comparisons("votes", "votes.blocks")
    run("fit", "votes", "-k", 2, "--memory", "300MB", "--refine", "none", "-o", "model.m4", "-q")
    assert (votes / "votes.blocks" / "about.json").exists()
    # as a command that was killed after the sorting leaves it
    (votes / "votes.blocks" / "temporary").touch()
    run("fit", "votes", "-k", 2, "--memory", "300MB", "--refine", "none", "-o", "model.m4", "-q")
    assert not (votes / "votes.blocks").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--engine", "cloud"],
            "--engine is 'cloud'; it must be one of 'threads', 'disk', 'dask'.",
        ),
        (
            ["--memory", "lots"],
            "--memory is 'lots'; it must be a number and a unit, as in 2GB or 512MB.",
        ),
        (
            ["--engine", "threads", "--memory", "2GB"],
            "--memory, --cache and several files are for data on disk",
        ),
        (["--memory", "2GB", "--ties", "half"], "--ties needs the comparisons in memory"),
        (["--memory", "2GB", "--calibrate"], "--calibrate needs the comparisons in memory"),
        (
            ["--memory", "2GB", "--method", "projections"],
            "--method projections needs the comparisons in memory",
        ),
        (
            ["--engine", "disk", "--scheduler", "tcp://127.0.0.1:9"],
            "--scheduler goes with --engine dask, not with disk.",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(votes, words, message):
    _, said = run("fit", "votes", "-k", 2, *words, "-o", "model.m4", code=2)
    assert message in " ".join(said.split()) and not (votes / "model.m4").exists()


@pytest.mark.slow
def test_predictions_and_rankings_from_disk(votes):
    """The same bytes as in memory; what needs one person's rows by name is refused."""
    first, second = load(votes / "expected.m4").items.tolist()[:2]
    (votes / "pairs.csv").write_text(f"first,second\n{first},{second}\n", encoding="utf-8")
    for command, words in (("predict", ["--pairs", "pairs.csv"]), ("rank", [])):
        run(command, "expected.m4", "votes", *words, "-o", "memory.csv", "-q")
        run(command, "expected.m4", "votes", *words, "-o", "disk.csv", "--memory", "300MB", "-q")
        assert (votes / "disk.csv").read_bytes() == (votes / "memory.csv").read_bytes()
        assert len((votes / "disk.csv").read_text(encoding="utf-8").splitlines()) > 20
    (votes / "own.csv").write_text(f"user,first,second\n0,{first},{second}\n", encoding="utf-8")
    for words in (["predict", "--pairs", "own.csv"], ["rank", "--user", "0"]):
        command, *rest = words
        _, said = run(command, "expected.m4", "votes", *rest, "--memory", "300MB", code=2)
        assert "--memory 300MB is for data on disk, and this needs" in " ".join(said.split())


@pytest.mark.slow
def test_weights_and_held_out_likelihood_from_disk(votes):
    run("weights", "expected.m4", "votes", "-o", "memory.csv")
    run("weights", "expected.m4", "votes", "-o", "disk.csv", "--memory", "300MB")
    assert (votes / "disk.csv").read_bytes() == (votes / "memory.csv").read_bytes()
    one, two = (
        run("heldout", "expected.m4", "votes", "--json", *words)[0]
        for words in ([], ["--engine", "disk"])
    )
    assert one == two
    _, said = run("heldout", "expected.m4", "votes", "--engine", "disk", "--include-mu", code=2)
    assert "--include-mu needs the comparisons in memory" in said
