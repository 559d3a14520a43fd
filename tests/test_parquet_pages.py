"""A page of a Parquet file that says a false size is refused in a sentence, or read as it is."""

import resource

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mallowmix.errors import FileError
from mallowmix.readers import read
from parquet_pages import PACKED, UNPACKED, number, true_size, with_size

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
        assert str(error).startswith(f"{votes} is not a whole Parquet file: it is cut short")
        assert "\n" not in str(error)
    else:
        assert which == UNPACKED and found.to_arrow().equals(good.to_arrow())
        column = pq.read_metadata(votes).row_group(0).column(USER)
        assert column.compression == "UNCOMPRESSED"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in kB
    assert grown < 200_000  # what 2 GB would take is asked for, and never filled
