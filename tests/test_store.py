"""Comparisons on disk: the same as in memory, whatever the shards; clear errors; nothing
half-written.
"""

import os
import shutil
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.memory_size import as_bytes, check_memory
from mallowmix.engine import make_blocks
from mallowmix.engine.blocks import TOGETHER, make_shards
from mallowmix.engine.out_of_core import flat_arrays, scan, store
from mallowmix.engine.out_of_core.partition import Plan, plan_parts
from mallowmix.engine.out_of_core.store import store_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.errors import DataError, FileError, OptionError
from mallowmix.readers import read_comparisons
from planted import planted

ROWS = [
    ("u2", "b", "a"),
    ("u10", "a", "c"),
    ("u2", "b", "a"),
    ("u10", "c", "b"),
    ("u1", "a", "b"),
    ("u1", "a", "c"),
]


def write(folder, rows=ROWS, names=("user", "winner", "loser"), shards=2):
    folder.mkdir(exist_ok=True)
    for i in range(shards):
        columns = [list(column) for column in zip(*rows[i::shards], strict=True)] or [
            [] for _ in names
        ]
        pq.write_table(
            pa.table(dict(zip(names, columns, strict=True))), folder / f"part-{i}.parquet"
        )
    return folder


def same(stored: StoredComparisons, comparisons: Comparisons) -> bool:
    """The digest, and every array of every block."""
    assert (
        stored.fingerprint() == comparisons.fingerprint()
        and stored.n_comparisons == comparisons.n_comparisons
    )
    assert (
        stored.items.tolist() == comparisons.items.tolist()
        and stored.users.tolist() == comparisons.users.tolist()
    )
    blocks = make_blocks(comparisons)
    assert len(stored.blocks()) == len(blocks) and len(stored) == len(comparisons)
    for kept, block in zip(stored.blocks(), blocks, strict=True):
        found = kept.load()
        assert (found.first_user, found.n_items, kept.n_users) == (
            block.first_user,
            block.n_items,
            block.n_users,
        )
        for name in ("starts", "pair", "weight", "user_weight"):
            one, two = getattr(found, name), getattr(block, name)
            assert one.dtype == two.dtype and np.array_equal(one, two)
    assert np.array_equal(stored.per_user(), comparisons.per_user())
    return True


label = st.one_of(st.integers(-5, 20), st.sampled_from(["x", "é", "10", "9", "a b", "日"]))
weights = st.sampled_from([1.0, 1.0, 2.0, 0.5, 2.5, 255.0, 256.0, 1000.0, 0.0])


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.integers(1, 3))
def test_any_shards_are_stored_as_they_are_read(tmp_path_factory, data, text, weighted, shards):
    """Labels as numbers or text, repeated rows, weights whole, fractional, large or 0, rows in any
    order.
    """
    folder = tmp_path_factory.mktemp("any")
    names = st.sampled_from(["u1", "u10", "u2", "ü", "7"]) if text else st.integers(-3, 12)
    things = st.sampled_from(["a", "B", "10", "9", "日", "é b"]) if text else st.integers(0, 12)
    pair = st.lists(things, min_size=2, max_size=2, unique=True)
    rows = data.draw(st.lists(st.tuples(names, pair, weights), min_size=1, max_size=40))
    flat = [(user, *both, weight)[: 3 + weighted] for user, both, weight in rows]
    if weighted and not any(row[3] for row in flat):
        flat[0] = (*flat[0][:3], 1.0)
    write(folder / "votes", flat, ("user", "winner", "loser", "weight")[: 3 + weighted], shards)
    assert same(
        store_comparisons(folder / "votes", folder / "x"), read_comparisons(folder / "votes")
    )


def test_how_people_are_cut_into_parts_does_not_matter(tmp_path, monkeypatch):
    """Sorted in one part, in seven, and with keys of 64 bits: the same bytes in every file."""
    truth = planted(12, 2, 0.3)
    sample = truth.sample(300, 20, seed=1).comparisons.to_arrow()
    (tmp_path / "votes").mkdir()
    pq.write_table(
        sample.take(np.random.default_rng(0).permutation(len(sample))),
        tmp_path / "votes" / "all.parquet",
    )
    plans = [
        Plan(1, 300, np.uint32),
        Plan(7, 43, np.uint32),
        Plan(2, 150, np.uint64),
    ]
    for number, plan in enumerate(plans):
        monkeypatch.setattr(store, "plan_parts", lambda *_, plan=plan, **__: plan)
        stored = store_comparisons(tmp_path / "votes", tmp_path / f"x{number}")
    names = ("starts", "pair", "weight", "other_rows", "other_weights", "pairs", "about.json")
    assert all(
        (tmp_path / f"x{i}" / name).read_bytes() == (tmp_path / "x0" / name).read_bytes()
        for i in (1, 2)
        for name in names
    )
    assert same(stored, read_comparisons(tmp_path / "votes"))


def test_text_files_and_other_names_and_policies(tmp_path):
    rows = [*ROWS, ("u3", "a", "a"), ("", "a", "b")]
    table = pa.table(
        {name: [row[i] for row in rows] for i, name in enumerate(("judge", "better", "worse"))}
    )
    pa_csv.write_csv(table, tmp_path / "votes.csv")
    how = {
        "columns": {"user": "judge", "winner": "better", "loser": "worse"},
        "self_pairs": "drop",
        "missing": "drop",
    }
    assert same(
        store_comparisons(tmp_path / "votes.csv", tmp_path / "x", **how),
        read_comparisons(tmp_path / "votes.csv", **how),
    )
    subprocess.run(["gzip", "-k", tmp_path / "votes.csv"], check=True)
    assert store_comparisons(tmp_path / "votes.csv.gz", tmp_path / "y", **how).n_rows == 5


@pytest.mark.parametrize(
    "source", ["votes", "votes/*.parquet", ["votes/part-0.parquet", "votes/part-1.parquet"]]
)
def test_a_folder_a_pattern_and_a_list(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "votes")
    stored = store_comparisons(source)
    assert (
        stored.n_comparisons == 6
        and stored.folder.suffix == ".blocks"
        and stored.folder.parent.resolve() == tmp_path
    )
    assert repr(stored) == "StoredComparisons(6 comparisons of 3 items by 3 users)"
    before = (stored.folder / "about.json").stat().st_mtime_ns
    assert store_comparisons(source).folder == stored.folder  # found, not made again
    assert (stored.folder / "about.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("rows", "names", "error", "message"),
    [
        (
            [*ROWS, ("u5", "a", "a")],
            None,
            DataError,
            r"part-0.parquet: in the row user 'u5', winner 'a', loser 'a' a thing is compared",
        ),
        (
            [*ROWS, ("u5", "", "a"), ("u5", "a", None)],
            None,
            DataError,
            r"the winner is missing\. Fill such rows in, or pass missing",
        ),
        (
            [(*row, 1.0) for row in ROWS] + [("u5", "a", "b", -1.0)],
            "weight",
            DataError,
            "the weight is negative. Weights are counts",
        ),
        (
            [(*row, 1.0) for row in ROWS] + [("u5", "a", "b", float("inf"))],
            "weight",
            DataError,
            "the weight is not a finite number",
        ),
        (
            [(1.5, "a", "b")],
            None,
            DataError,
            "column 'user' has the type DOUBLE; from disk, labels are text or whole numbers",
        ),
        (
            [("u", "a", "b", 0.0)],
            "weight",
            DataError,
            "There are no comparisons: give at least one row",
        ),
    ],
)
def test_rows_that_cannot_be_used(tmp_path, rows, names, error, message):
    write(
        tmp_path / "votes",
        rows,
        ("user", "winner", "loser", "weight") if names else ("user", "winner", "loser"),
        1,
    )
    with pytest.raises(error, match=message):
        store_comparisons(tmp_path / "votes", tmp_path / "x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["votes"]  # nothing half-written


def test_files_that_cannot_be_used(tmp_path):
    write(tmp_path / "votes")
    for source, message in [
        (tmp_path / "none.parquet", "There is no file .*none.parquet: check the name"),
        (tmp_path / "none-*.parquet", "No file fits"),
        (
            [tmp_path / "votes" / "part-0.parquet", tmp_path / "gone.parquet"],
            "There is no file .*gone.parquet",
        ),
        (tmp_path / "votes.xlsx", r"from disk, mallowmix reads \.parquet, \.csv and \.tsv"),
    ]:
        (tmp_path / "votes.xlsx").touch()
        with pytest.raises(FileError, match=message):
            store_comparisons(source, tmp_path / "x")
    (tmp_path / "votes" / "part-1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FileError, match=r"part-1\.parquet is not a whole Parquet file"):
        store_comparisons(tmp_path / "votes", tmp_path / "x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match=r"nothing in it that can be read"):
        store_comparisons(tmp_path / "empty", tmp_path / "x")
    write(tmp_path / "odd", names=("user", "winner", "beaten"), shards=1)
    with pytest.raises(DataError, match="has no column 'loser'"):
        store_comparisons(tmp_path / "odd", tmp_path / "x")


def test_a_shard_that_vanishes_while_it_is_read(tmp_path, monkeypatch):
    write(tmp_path / "votes")

    def gone(*_, **__):
        (tmp_path / "votes" / "part-1.parquet").unlink()
        return Plan(1, 3, np.uint32)

    monkeypatch.setattr(store, "plan_parts", gone)
    with pytest.raises(
        FileError, match=r"part-1\.parquet vanished while it was read: bring it back, and run again"
    ):
        store_comparisons(tmp_path / "votes", tmp_path / "x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["votes"]


def test_a_folder_of_other_comparisons_is_refused(tmp_path):
    write(tmp_path / "votes")
    store_comparisons(tmp_path / "votes", tmp_path / "x")
    write(tmp_path / "votes", ROWS[:3])
    with pytest.raises(
        FileError,
        match=r"x holds other comparisons than .*part-0.parquet and the other files now do: "
        r"remove it",
    ):
        store_comparisons(tmp_path / "votes", tmp_path / "x")
    (tmp_path / "y").mkdir()
    with pytest.raises(FileError, match="y holds no stored comparisons"):
        store_comparisons(tmp_path / "votes", tmp_path / "y")
    (tmp_path / "x" / "about.json").write_text('{"format": 99}')
    with pytest.raises(FileError, match="written by another version of mallowmix"):
        StoredComparisons(tmp_path / "x")


def test_a_damaged_folder_says_so(tmp_path):
    write(tmp_path / "votes")
    stored = store_comparisons(tmp_path / "votes", tmp_path / "x")
    (tmp_path / "x" / "pair").write_bytes(b"")
    with pytest.raises(
        FileError, match=r"is damaged: its array pair ends too early\. Remove the folder"
    ):
        stored.blocks()[-1].load()
    (tmp_path / "x" / "pair").unlink()
    with pytest.raises(FileError, match="lacks its array pair"):
        stored.blocks()[0].load()
    shutil.rmtree(tmp_path / "x")
    with pytest.raises(
        FileError,
        match=r"x is not there: keep it, on a disk that all workers see under the same name",
    ):
        stored.blocks()[0].load()


@pytest.mark.parametrize("together", [1, 10**9])
def test_people_who_come_back_in_other_files_are_counted_once(tmp_path, monkeypatch, together):
    """Files are gone through a group at a time; whoever is in an earlier group is not new."""
    monkeypatch.setattr(scan, "TOGETHER", together)
    shards = [("b", "a", "only 0"), ("a", "c", "only 1"), ("b", "c", "0")]
    rows = [(shards[n][row], "x", "yz"[row % 2]) for row in range(3) for n in range(3)]
    stored = store_comparisons(write(tmp_path / "votes", rows, shards=3), tmp_path / "x")
    assert stored.users.tolist() == ["0", "a", "b", "c", "only 0", "only 1"]
    assert stored.per_user().tolist() == [1, 2, 2, 2, 1, 1]


def test_weights_that_are_no_bytes_are_found_without_reading_all_of_them(tmp_path, monkeypatch):
    rows = [
        (f"u{m:02}", a, b, w)
        for m in range(20)
        for a, b, w in (("a", "b", 0.5), ("b", "a", 0.5), ("c", "a", 1.0 + m))
    ]
    write(tmp_path / "votes", rows, ("user", "winner", "loser", "weight"))
    stored, asked = store_comparisons(tmp_path / "votes", tmp_path / "x"), []
    read = flat_arrays.read_array
    monkeypatch.setattr(
        flat_arrays, "read_array", lambda *about: (asked.append(about), read(*about))[1]
    )
    # rows of u03
    assert flat_arrays.read_weights(stored.folder, 9, 12).tolist() == [0.5, 0.5, 4.0]
    assert [about[2:4] for about in asked if about[1].startswith("other")] == [(6, 8), (6, 8)]
    np.testing.assert_allclose(stored.per_user(), 2.0 + np.arange(20))
    (tmp_path / "x" / "other_rows").unlink()
    with pytest.raises(FileError, match="lacks its array other_rows"):
        stored.blocks()[0].load()


def test_a_disk_that_is_too_small(tmp_path, monkeypatch):
    write(tmp_path / "votes")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(10))
    with pytest.raises(
        FileError,
        match=r"has 0\.0 GB left, and sorting .* name a folder on a larger disk with cache",
    ):
        store_comparisons(tmp_path / "votes", tmp_path / "x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["votes"]


@pytest.mark.slow
def test_a_disk_that_fills_up(tmp_path):
    """A limit on the size of files stands for it: writing fails midway, and nothing is left."""
    rows = [(u, "ab"[u % 2], "c") for u in range(4000)]
    write(tmp_path / "votes", rows, shards=1)
    script = (
        "import resource, sys; from mallowmix.engine.out_of_core.store import "
        "store_comparisons; from mallowmix.errors import FileError\n"
        "import duckdb, pyarrow.parquet\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))\n"
        f"try: store_comparisons({str(tmp_path / 'votes')!r}, {str(tmp_path / 'x')!r})\n"
        "except FileError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (
        "x cannot be written: File too large. Make room, or name another folder with cache."
        in done.stdout
    ), done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["votes"]


def test_what_a_killed_run_left_is_cleared(tmp_path):
    write(tmp_path / "votes")
    finished = subprocess.Popen([sys.executable, "-c", ""])
    finished.wait()
    dead, living = tmp_path / f".x.{finished.pid}-ab.tmp", tmp_path / f".x.{os.getpid()}-cd.tmp"
    dead.mkdir(), living.mkdir()
    store_comparisons(tmp_path / "votes", tmp_path / "x")
    assert not dead.exists() and living.exists()


def test_a_summary_warns_as_the_comparisons_would(tmp_path):
    write(
        tmp_path / "votes",
        [("u1", "a", "b"), ("u2", "a", "b"), ("u2", "c", "d"), ("u2", "d", "c")],
        shards=1,
    )
    from mallowmix.checks.data_report import check

    stored = store_comparisons(tmp_path / "votes", tmp_path / "x")
    assert check(stored.summary()).warnings == check(read_comparisons(tmp_path / "votes")).warnings


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("512m", 512 * 10**6),
        ("300000000", 3 * 10**8),
        (7e8, 7 * 10**8),
    ],
)
def test_sizes(text, nbytes):
    assert as_bytes(text) == check_memory(text) == nbytes


@pytest.mark.parametrize("text", ["2 hours", "", "GB", "-1GB", "1e9999"])
def test_what_is_no_size(text):
    with pytest.raises(OptionError, match="it must be a number and a unit, as in 2GB"):
        as_bytes(text)


def test_too_little_memory():
    with pytest.raises(OptionError, match="memory is '10MB'; it must be at least 256MB"):
        check_memory("10MB")


@given(
    st.integers(1, 10**11),
    st.integers(1, 10**7),
    st.integers(2, 2000),
    st.integers(10**8, 10**10),
    st.booleans(),
)
def test_parts_cover_everybody_and_keys_fit(n_rows, n_users, n_items, memory, weighted):
    plan = plan_parts(n_rows, n_users, n_items, memory, weighted=weighted)
    assert (
        1 <= plan.n_parts <= 512
        and (plan.n_parts - 1) * plan.users_a_part < n_users <= plan.n_parts * plan.users_a_part
    )
    assert plan.users_a_part * n_items**2 <= 2 ** (8 * np.dtype(plan.key).itemsize)


@given(st.integers(1, 5000))
def test_shards_hold_every_block_once_and_are_few(n):
    shards = make_shards(range(n))
    assert [block for shard in shards for block in shard.blocks] == list(range(n))
    sizes = [len(shard.blocks) for shard in shards]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) <= max(TOGETHER, np.sqrt(n) + TOGETHER)
    assert len(shards) < max(128, np.sqrt(n) + 16)
    assert len(shards) % 16 == 0 or n < 48  # so many workers end at the same time
