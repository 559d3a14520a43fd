"""Small CSV files are read without Arrow where they leave no question open, and then alike."""

import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from command_line import run
from mallowmix.errors import DataError, MallowmixError
from mallowmix.numerics.small_work import MOST_NUMBERS, one_answer
from mallowmix.readers import read
from mallowmix.readers.files import open_path
from mallowmix.readers.pairs import read_pairs
from mallowmix.readers.small_csv import small_columns, small_comparisons

NAMES = "user,winner,loser"
PLAIN = f"{NAMES}\nann,tea,milk\nann,tea,milk\nbob,Ä b,tea\nø,milk,tea\n10,é,tea\n9,tea,é"


def small(text, path, read=small_comparisons):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with one_answer():
        return read(path)


def test_a_plain_file_is_read_as_by_arrow(tmp_path):
    path = tmp_path / "votes.csv"
    for text in (PLAIN, PLAIN + "\n", "loser,user,winner\nmilk,ann,tea"):
        found = small(text, path)
        assert found is not None and found == read(path).comparisons
        assert found.items.dtype == object and found.frame_kind is None
    assert small_comparisons(path) is None  # where more than one answer is wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        NAMES,
        f"{NAMES}\n",
        f'{NAMES}\n"ann",tea,milk',
        f"{NAMES}\r\nann,tea,milk\r\n",
        f"\ufeff{NAMES}\nann,tea,milk",
        f"{NAMES}\nann,tea,milk\n\nbob,tea,milk",
        f"{NAMES}\nann,tea,",
        f"{NAMES}\nann,tea",
        f"{NAMES}\nann,tea,milk,beer\nbob,tea",
        f"{NAMES}\nann,tea,tea",
        f"{NAMES}\n'=ann,tea,milk",
        f"{NAMES}\nann,'+tea,milk",
        f"{NAMES}\nann,tea\0,milk",
        f"{NAMES}\nann,t\xe9a,milk".encode("latin-1"),
        f"{NAMES},weight\nann,tea,milk,2",
        "user;winner;loser\nann;tea;milk",
        "judge,winner,loser\nann,tea,milk",
        "user,winner,winner\nann,tea,milk",
        "user,item,rating\nann,tea,1\nann,milk,2",
    ],
)
def test_a_question_is_left_to_the_usual_reader(text, tmp_path):
    assert small(text, tmp_path / "votes.csv") is None


@given(
    st.lists(
        st.lists(st.text("ab ',\"\r\n\té;=0\ufeff", max_size=3), min_size=2, max_size=4), max_size=4
    )
)
@example([["a", "b", "c"], ["a", "c", "b"]])
@example([["a", " b", "b "], ["\t", "é", "="]])
def test_what_is_read_is_what_arrow_reads(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("small") / "votes.csv"
    found = small("\n".join([NAMES, *map(",".join, rows)]), path)
    if found is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert found == read(path).comparisons


def test_columns_of_any_names(tmp_path):
    path = tmp_path / "pairs.csv"
    columns = small("item_a,note,item_b\ntea,x,milk\n", path, small_columns)
    assert columns == {"item_a": ["tea"], "note": ["x"], "item_b": ["milk"]}
    source = open_path(path)
    taken = source.take({name: name for name in columns})
    assert columns == {name: column.to_pylist() for name, column in taken.items()}


@pytest.mark.parametrize("header", ["first,second", "user,left,right", "right,user,left,more"])
def test_pairs_are_the_same(header, tmp_path):
    path = tmp_path / "pairs.csv"
    line = ",".join("abcd"[: header.count(",") + 1])
    with one_answer():
        path.write_text(f"{header}\n{line}\n{line}\n")
        plain = read_pairs(path)
    assert plain == read_pairs(path) and len(plain.pairs) == 2
    path.write_text("winner,other\na,b\n")
    with one_answer(), pytest.raises(DataError, match="has the columns"):
        read_pairs(path)


def test_a_larger_file_and_other_kinds_are_left_to_the_usual_reader(tmp_path):
    assert small(PLAIN + "\nann,tea,milk" * MOST_NUMBERS, tmp_path / "votes.csv") is None
    assert small(PLAIN, tmp_path / "votes.tsv") is None
    with one_answer():
        assert small_comparisons(tmp_path) is None
        assert small_comparisons(tmp_path / "none.csv") is None


def test_a_self_pair_is_refused_with_its_line_by_a_command(tmp_path):
    import mallowmix as mm

    mm.save(mm.M4.from_orders([["tea", "milk"]], phi=0.3), tmp_path / "model.m4")
    small(f"{NAMES}\nann,tea,milk\nann,tea,tea", tmp_path / "votes.csv")
    words = "rank", tmp_path / "model.m4", tmp_path / "votes.csv", "--user", "ann"
    assert "line 3" in run(*words, code=1)[1]
    assert "range" in run(*words, "--self-pairs", "drop")[0]
    with one_answer(), pytest.raises(MallowmixError):
        read(tmp_path / "votes.csv")
