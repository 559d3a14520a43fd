"""Quotes that do not close, or stand where none may: no row of a CSV file is lost in silence."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.assess.user_attributes import read_attributes
from mallowmix.data.labels import as_labels
from mallowmix.errors import DataWarning, FileError
from mallowmix.readers.csv_quotes import misplaced_quotes
from mallowmix.readers.text_format import TextFormat, find_dialect

HEADER = "user,winner,loser\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(text):
    Path("v.csv").write_text(text, newline="")
    return mm.read_comparisons("v.csv")


JOINED = {
    "two quotes that never close": 'u1,"a,b\nu2,"c,d\nu3,a,d\n',
    "many lines apart": 'u1,"a,b\n' + "u2,c,d\n" * 50 + 'u3,"c,d\n',
    "after a row, and farther apart than a field is long": 'u0,a,b\nu1,"a,b\n'
    + "u2,c,d\n" * 30_000
    + 'u3,"c,d\n',
    "after a good one": '"u1","a","b"\nu2,"c,d\nu3,"e,f\n',
    "after a doubled one": 'u1,"a ""b",c\nu2,"c,d\nu3,"e,f\n',
}


@pytest.mark.parametrize("kind", JOINED)
def test_quotes_that_join_rows_are_refused_with_their_line(kind):
    line = 3 if kind.startswith("after") else 2
    with pytest.raises(FileError, match=rf"^v.csv line {line}: a quote opens here, and the next"):
        read(HEADER + JOINED[kind])
    with pytest.raises(FileError, match=rf"^v.csv line {line}: a quote opens here, and the next"):
        mm.store_comparisons("v.csv", "v.blocks")
    assert not Path("v.blocks").exists()


def test_misplaced_quotes_that_join_nothing_are_counted():
    with pytest.warns(DataWarning, match=r"v.csv line 3 has text after .* \(and 1 more such lin"):
        found = read(HEADER + 'u1,"a",b\nu2,"a"x,b\nu3,"b" c,a\n')
    assert found.items.tolist() == ["a", "ax", "b", "b c"]
    with pytest.raises(FileError, match=r"v.csv line 3 has text after a closing quote"):
        mm.store_comparisons("v.csv", "v.blocks")


GOOD = [
    '5" pipe',
    'a "b" c',
    'x"',
    "tea\nmilk",
    'say ""',
    'line\r\n"two"',
    '"',
    "a,b\nc,d",
    "plain",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_quotes_that_were_written_right_are_no_fault(encoding):
    text = io.StringIO(newline="")
    rows = [("u", one, other) for one, other in zip(GOOD, GOOD[1:] + GOOD[:1], strict=True)]
    csv.writer(text).writerows([("user", "winner", "loser"), *rows])
    Path("v.csv").write_text(text.getvalue(), encoding, newline="")
    found = mm.read_comparisons("v.csv")
    assert set(found.items.tolist()) == set(GOOD) and found.n_comparisons == len(GOOD)


def test_a_quote_inside_of_a_plain_field_is_text_on_both_ways():
    found = read(HEADER + 'u1,5" pipe,b\nu2,c 6",d\n')
    stored = mm.store_comparisons("v.csv", "v.blocks")
    assert found.items.tolist() == stored.items.tolist() == ['5" pipe', "b", 'c 6"', "d"]


def slow_answer(text):
    """The same by Python's strict reader alone, line by line; None where it refuses the file."""
    lines, wrong = io.StringIO(text, newline=""), 0
    reader = csv.reader(lines)
    kept = text.splitlines(keepends=True)
    while True:
        first = reader.line_num
        try:
            next(reader)
        except StopIteration:
            return wrong
        own = kept[first : reader.line_num]
        try:
            list(csv.reader(own, strict=True))
        except csv.Error as error:
            if len(own) > 1 or "unexpected end" in str(error):
                return None
            wrong += 1


@given(st.lists(st.text(alphabet='"",ab', max_size=7), max_size=6), st.integers(1, 40))
def test_the_quick_look_agrees_with_a_slow_one(tmp_path_factory, lines, block):
    text = "".join(f"{line}\n" for line in lines)
    path = tmp_path_factory.mktemp("quotes") / "v.csv"
    path.write_text(text, newline="")
    dialect = find_dialect(path, TextFormat(separator=","))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mallowmix.readers.csv_quotes._BLOCK", block)
        if slow_answer(text) is None:
            with pytest.raises(FileError, match="a quote opens here"):
                misplaced_quotes(dialect)
        else:
            assert bool(misplaced_quotes(dialect)) == bool(slow_answer(text))


LOST = {
    "never closes": ('{0},"x\n{1},y\n', 2),
    "closes in the next row": ('{0},x\n{1},"y\n{2},z"\n', 3),
    "opens twice": ('{0},"x\n{1},"y\n', 2),
    "has text after it": ('{0},"x"y\n{1},z\n', 2),
}


@pytest.mark.parametrize("kind", LOST)
def test_attributes_and_names_lose_no_row(kind):
    text, line = LOST[kind]
    Path("f.csv").write_text("user,team\n" + text.format("ann", "bob", "cid"))
    with pytest.raises(FileError, match=rf"^f.csv line {line}\b"):
        read_attributes("f.csv", as_labels(["ann", "bob"]))
    Path("f.csv").write_text("id,label\n" + text.format(1, 2, 3))
    with pytest.raises(FileError, match=rf"^f.csv line {line}\b"):
        mm.read_item_names("f.csv")


def test_a_description_may_have_lines():
    Path("f.csv").write_text('id,label,description\n1,tea,"hot\nand sweet, say"\n')
    assert mm.read_item_names("f.csv").names["1"].description == "hot\nand sweet, say"
