"""A page of a Parquet file that says a false size is refused in a sentence, or read as it is."""

import random
import resource

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mallowmix.errors import FileError
from mallowmix.readers import read
from mallowmix.readers.page_sizes import page_bytes
from mallowmix.readers.parquet_batches import parquet_batches
from mallowmix.readers.unpacked_limit import most_unpacked
from parquet_pages import PACKED, UNPACKED, number, true_size, with_footer_size, with_size

N_ROWS, USER = 400, 2  # the last column
MOST = 2**31 - 1
FORMS = {
    "as it is": {"compression": "none"},
    "snappy, numbered": {"compression": "snappy", "use_dictionary": True},
    "zstd": {"compression": "zstd", "use_dictionary": False},
    "gzip, second version": {"compression": "gzip", "data_page_version": "2.0"},
}


@pytest.fixture(params=FORMS)
def votes(request, tmp_path):
    users = [f"person {n:05d}" for n in range(N_ROWS)]
    table = pa.table({"winner": ["a"] * N_ROWS, "loser": ["b"] * N_ROWS, "user": users})
    pq.write_table(table, tmp_path / "v.parquet", **FORMS[request.param])
    return tmp_path / "v.parquet"


def test_thrift_numbers():
    """Zigzag, then seven bits a byte: the examples of Thrift's specification, and a longer form."""
    assert [number(value) for value in (0, -1, 1, -2)] == [b"\0", b"\1", b"\2", b"\3"]
    assert number(25_000) == bytes([0b1101_0000, 0b1000_0110, 0b11])  # 50,000
    assert number(1, length=3) == b"\x82\x80\0"


def test_the_true_size_changes_nothing(votes):
    for which in (UNPACKED, PACKED):
        size = true_size(votes, USER, which)
        assert with_size(votes, USER, which, size) == votes.read_bytes()
        assert 100 < size < 8000


@pytest.mark.parametrize("which", [UNPACKED, PACKED])
@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 0.999, 1.001, 2.0, MOST])
def test_a_false_size_is_a_sentence_or_plays_no_part(votes, which, factor):
    """Arrow has the size once unpacked only for pages that are packed."""
    good = read(votes).comparisons
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    true = true_size(votes, USER, which)
    size = int(min(true * factor + (factor > 1), MOST)) - (0 < factor < 1)
    assert size != true
    votes.write_bytes(with_size(votes, USER, which, size))
    try:
        found = read(votes).comparisons
    except FileError as error:
        too_much = which == UNPACKED and size > most_unpacked(votes)
        said = "is not a whole Parquet file: it is cut short"
        said = "unpacks to more than" if too_much else said
        assert str(error).startswith(f"{votes} ") and said in str(error)
        assert "\n" not in str(error)
    else:
        assert which == UNPACKED and found.to_arrow().equals(good.to_arrow())
        column = pq.read_metadata(votes).row_group(0).column(USER)
        assert column.compression == "UNCOMPRESSED"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in kB
    assert grown < 200_000  # what 2 GB would take is asked for, and never filled


@pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)
def test_pages_say_what_the_footer_says(tmp_path, options):
    """Of several groups, many pages and nested columns: pages and their headers, and no more."""
    lists = [["a", "b"][: n % 3] for n in range(5000)]
    table = pa.table({"n": range(5000), "t": [f"person {n}" for n in range(5000)], "r": lists})
    small = {"row_group_size": 2000, "data_page_size": 1000, "write_batch_size": 50}
    pq.write_table(table, tmp_path / "v.parquet", write_page_checksum=True, **options, **small)
    about = pq.read_metadata(tmp_path / "v.parquet")
    for column in range(3):
        pages = list(page_bytes(tmp_path / "v.parquet", {column}))
        chunks = [about.row_group(n).column(column) for n in range(3)]
        said = sum(each.total_uncompressed_size for each in chunks)
        assert len(pages) >= 6 and said - 200 * len(pages) < sum(pages) < said


@pytest.mark.parametrize("writer", ["duckdb", "polars"])
def test_files_of_other_writers_are_read(tmp_path, writer):
    path = tmp_path / "v.parquet"
    table = pa.table({"winner": ["a", "b"] * 300, "loser": ["b", "c"] * 300})
    if writer == "duckdb":
        connection = pytest.importorskip("duckdb").connect()
        connection.register("votes", table)
        connection.execute(f"COPY votes TO '{path}' (FORMAT parquet)")
    else:
        pytest.importorskip("polars").from_arrow(table).write_parquet(path)
    assert pa.Table.from_batches(parquet_batches(path)).to_pylist() == table.to_pylist()


def test_a_footer_that_says_too_little_is_refused_before_a_page_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "v.parquet"
    long = "x" * 30_000_000
    table = pa.table({"winner": ["a"] * 10, "loser": ["b"] * 10, "user": [long] * 10})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 50_000
    path.write_bytes(with_footer_size(path, 1000))
    assert pq.read_metadata(path).row_group(0).total_byte_size == 1000
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    with pytest.raises(FileError, match=r"unpacks to more than 256,000,000"):
        read(path)


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_footer_is_a_sentence_or_plays_no_part(votes, seed):
    """Any byte of the footer; what Arrow reads in spite of it, it reads as before."""
    good, chance = votes.read_bytes(), random.Random(seed)
    length = int.from_bytes(good[-8:-4], "little")
    for _ in range(40):
        damaged = bytearray(good)
        damaged[chance.randrange(len(good) - 8 - length, len(good) - 8)] = chance.randrange(256)
        votes.write_bytes(damaged)
        try:
            found = list(page_bytes(votes, {0, 1, 2}))
        except (ValueError, OverflowError):
            continue
        assert all(0 <= size < 2**31 for size in found)
