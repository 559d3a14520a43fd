"""Files as people have them: separators, encodings, decimal commas, no header, Excel, endings."""

import csv
import importlib
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mallowmix as mm
from command_line import run
from mallowmix.errors import DataError, FileError, MissingPackageError, OptionError

ROWS = [("ann", "tea", "café"), ("bob", "café", "tea"), ("bob", "tea", "milk")]
TRUTH = mm.Comparisons.from_arrays(*zip(*ROWS, strict=True))


def text_of(rows, separator=",", header=("user", "winner", "loser")):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator).writerows([header, *rows] if header else rows)
    return file.getvalue()


def said(reading, words):
    return any(words in str(note) for note in reading.notes)


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolon"), ("\t", "tab"), ("|", "|")])
def test_a_separator_is_recognised_and_said(tmp_path, separator, name):
    path = tmp_path / "votes.csv"
    path.write_text(text_of(ROWS, separator), encoding="utf-8")
    reading = mm.read(path)
    assert reading.comparisons == TRUTH
    assert said(reading, "between fields; pass separator=")
    quiet = mm.read(path, separator=name)
    assert quiet.comparisons == TRUTH and quiet.notes == ()


def test_a_tab_is_named_by_its_word(tmp_path, monkeypatch):
    """Between quotes a tab cannot be told from blanks, nor be typed in a shell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(text_of(ROWS, "\t"), encoding="utf-8")
    assert said(mm.read("votes.csv"), 'pass separator="tab" to')
    assert "pass --separator tab to" in run("check", "votes.csv")[1]


def test_commas_inside_fields_do_not_hide_semicolons(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user;winner, the;loser\nann;tea, green;milk\nbob;milk;tea\n")
    reading = mm.read(path, columns={"winner": "winner, the"})
    assert set(reading.comparisons.items) == {"tea, green", "milk", "tea"}


def test_a_comma_separated_file_stays_one(tmp_path):
    """Every line has one semicolon, too: the usual separator has precedence."""
    path = tmp_path / "votes.csv"
    path.write_text("user,winner,loser;\nann,tea;,milk\nbob,milk,tea;\n")
    assert mm.read(path, columns={"loser": "loser;"}).comparisons.items.tolist() == [
        "milk",
        "tea;",
    ]


LABELS = st.text(
    st.characters(codec="cp1252", exclude_categories=("Cc", "Cs")), min_size=1, max_size=6
).filter(lambda text: text == text.strip())


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    labels=st.lists(LABELS, min_size=2, max_size=5, unique=True),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]),
    header=st.booleans(),
)
def test_any_labels_survive_any_way_of_writing(
    tmp_path_factory, labels, separator, encoding, header
):
    rows = [("u", a, b) for a in labels for b in labels if a < b]
    path = tmp_path_factory.mktemp("written") / "votes.csv"
    text = text_of(rows, separator, ("user", "winner", "loser") if header else None)
    path.write_bytes(text.encode(encoding))
    found = mm.read(path, separator=separator, encoding=encoding, header=header).comparisons
    assert found == mm.Comparisons.from_arrays(*zip(*rows, strict=True))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    path = tmp_path / "votes.csv"
    path.write_bytes(text_of(ROWS, ";").encode(encoding))
    assert mm.read(path).comparisons == TRUTH


def test_a_line_in_utf_16_is_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(text_of([*ROWS, ("ann", "tea", "tea")]).encode("utf-16"))
    with pytest.raises(DataError, match=r"votes.csv line 5: user 'ann' compares 'tea' with itself"):
        mm.read(path)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(text_of(ROWS).encode("latin-1"), "cp1252"), (text_of(ROWS).encode("utf-16-le"), "utf-16-le")],
    ids=["latin-1", "utf-16 without a mark"],
)
def test_another_encoding_is_refused_with_the_option_that_reads_it(tmp_path, content, encoding):
    path = tmp_path / "votes.csv"
    path.write_bytes(content)
    with pytest.raises(FileError) as raised:
        mm.read(path)
    assert f'encoding="{encoding}"' in str(raised.value)
    assert mm.read(path, encoding=encoding).comparisons == TRUTH


def test_a_wrong_encoding_is_refused(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(b"user,winner,loser\nann,tea,milk\nann,\x81,milk\n")
    with pytest.raises(FileError, match="line 3 is not text in the encoding cp1252"):
        mm.read(path, encoding="cp1252")
    with pytest.raises(OptionError) as raised:
        mm.read(path, encoding="klingon")
    assert raised.value.option == "encoding"


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("user;winner;loser;weight\nann;tea;milk;1,5\nann;milk;water;2\n", [2.0, 1.5]),
        ("user\twinner\tloser\tweight\nann\ttea\tmilk\t1,25\nann\tmilk\twater\t,5\n", None),
    ],
)
def test_decimal_commas(tmp_path, text, weights):
    path = tmp_path / "votes.csv"
    path.write_text(text)
    if weights is None:  # ",5" leaves a doubt
        with pytest.raises(DataError, match='pass decimal=","'):
            mm.read(path)
        assert mm.read(path, decimal=",").comparisons.weight.tolist() == [0.5, 1.25]
        return
    reading = mm.read(path)
    assert reading.comparisons.weight.tolist() == weights
    assert said(reading, "decimal commas in the column 'weight'")


def test_thousands_are_not_taken_for_decimals(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user;winner;loser;weight\nann;tea;milk;1,500\n")
    with pytest.raises(DataError, match="'1,500' is not a number"):
        mm.read(path)
    assert mm.read(path, decimal=",").comparisons.weight.tolist() == [1.5]


def test_stars_with_decimal_commas(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("user;item;rating\nann;tea;4,5\nann;milk;4,25\nann;water;4\n")
    expected = mm.comparisons_from_ratings(["ann"] * 3, ["tea", "milk", "water"], [4.5, 4.25, 4])
    assert mm.read(path).comparisons == expected


def test_without_a_header(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(text_of(ROWS, header=None), encoding="utf-8")
    with pytest.raises(DataError, match="pass header=False"):
        mm.read(path)
    assert mm.read(path, header=False).comparisons == TRUTH
    columns = {"user": "1", "winner": "3", "loser": "2"}
    turned = mm.read(path, header=False, columns=columns).comparisons
    assert turned == mm.Comparisons.from_arrays(*zip(*[(u, b, a) for u, a, b in ROWS], strict=True))
    path.write_text("ann,tea,milk\nann,tea,tea\n")
    with pytest.raises(DataError, match="line 2: user 'ann' compares"):
        mm.read(path, header=False)


def test_without_a_header_other_forms_have_an_order_too(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("ann,tea,5\nann,milk,3\n")
    stars = mm.read(path, header=False, format="ratings").comparisons
    assert stars == mm.Comparisons.from_arrays(["ann"], ["tea"], ["milk"])
    with pytest.raises(OptionError) as raised:
        mm.read(path, header=False, format="best-worst")
    assert raised.value.option == "columns"


@pytest.mark.parametrize("option", [{"separator": ";"}, {"encoding": "latin-1"}, {"header": False}])
def test_options_of_text_files_are_refused_elsewhere(tmp_path, option):
    (tmp_path / "votes.jsonl").write_text('{"user": "a", "winner": "b", "loser": "c"}')
    for source in (tmp_path / "votes.jsonl", ROWS):
        with pytest.raises(OptionError) as raised:
            mm.read(source, **option)
        assert raised.value.option == next(iter(option))


# ---- Excel, JSON, any ending ----


def workbook(path, sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_workbook(tmp_path):
    path = tmp_path / "votes.xlsx"
    workbook(path, {"Votes": [("user", "winner", "loser"), *ROWS], "Notes": [("old",)]})
    reading = mm.read(path)
    assert reading.comparisons == TRUTH
    assert said(reading, "the sheet 'Votes' was read, and not 'Notes'")
    workbook(path, {"Empty": [], "Votes": [(), *ROWS]})
    assert mm.read(path, header=False).comparisons == TRUTH
    workbook(path, {"Votes": [("user", "winner", "loser"), (7, 1, 2), (7, 2, 2)]})
    with pytest.raises(DataError, match=r"votes.xlsx row 3: user 7 compares 2 with itself"):
        mm.read(path)


def test_a_workbook_without_openpyxl_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "votes.xlsx").write_bytes(b"PK\3\4")
    imported = importlib.import_module

    def without(name, *rest):
        if name == "openpyxl":
            raise ModuleNotFoundError(name)
        return imported(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(
        MissingPackageError, match=r"needs openpyxl, .*: pip install 'mallowmix\[data\]'"
    ):
        mm.read(tmp_path / "votes.xlsx")


def test_what_is_no_workbook(tmp_path):
    pytest.importorskip("openpyxl")
    for content in (b"", b"PK\3\4", b"user,winner,loser\na,b,c\n"):
        (tmp_path / "votes.xlsx").write_bytes(content)
        with pytest.raises(FileError, match="cannot be read as an Excel workbook"):
            mm.read(tmp_path / "votes.xlsx")


def test_a_list_in_json(tmp_path):
    names = ("user", "winner", "loser")
    path = tmp_path / "votes.json"
    path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in ROWS]))
    assert mm.read(path).comparisons == TRUTH
    for text in ("", "{}", "[]", "[1]", "{"):
        path.write_text(text)
        with pytest.raises(FileError, match="a list of objects"):
            mm.read(path)


def test_a_key_inside_an_object_is_a_column(tmp_path):
    rows = [{"who": {"id": u}, "winner": a, "loser": b} for u, a, b in ROWS]
    for name, text in (
        ("votes.json", json.dumps(rows)),
        ("votes.jsonl", "\n".join(map(json.dumps, rows))),
    ):
        (tmp_path / name).write_text(text)
        assert mm.read(tmp_path / name, columns={"user": "who.id"}).comparisons == TRUTH


def test_any_ending_where_the_form_is_named(tmp_path):
    path = tmp_path / "votes.data"
    for content in (
        text_of(ROWS).encode(),
        text_of(ROWS, ";").encode("utf-16"),
        "\n".join(
            json.dumps(dict(zip(("user", "winner", "loser"), row, strict=True))) for row in ROWS
        ).encode(),
    ):
        path.write_bytes(content)
        with pytest.raises(FileError, match='as in format="comparisons"'):
            mm.read(path)
        assert mm.read(path, format="comparisons").comparisons == TRUTH


# ---- rankings and pairs ----

MATRIX = "tea,milk,water\n1,2,3\n3,1,2\n"
EXPECTED = [
    (1, "tea", "milk"),
    (1, "tea", "water"),
    (1, "milk", "water"),
    (2, "milk", "water"),
    (2, "milk", "tea"),
    (2, "water", "tea"),
]


def test_a_rank_matrix_without_users_is_a_person_a_row(tmp_path):
    path = tmp_path / "ranks.csv"
    path.write_text(MATRIX)
    reading = mm.read(path)
    rows = reading.comparisons.to_frame("pyarrow").to_pylist()
    assert {(row["user"], row["winner"], row["loser"]) for row in rows} == set(EXPECTED)
    assert said(reading, "every row was taken for another person")
    assert mm.read(path, format="rankings").comparisons == reading.comparisons
    assert len(mm.read(path, format="rankings", one_user=True).comparisons.users) == 1


def test_a_rank_matrix_with_users_is_recognised(tmp_path):
    path = tmp_path / "ranks.csv"
    path.write_text("user,tea,milk,water\nann,1,2,3\nbob,,1,2\n")
    reading = mm.read(path)
    assert reading.form == "rankings" and said(reading, "was read as rankings")
    assert reading.comparisons.users.tolist() == ["ann", "bob"]
    assert reading.comparisons.n_comparisons == 4


@pytest.mark.parametrize("header", ["", '""', "Unnamed: 0"])
def test_labels_of_rows_say_who_in_a_wide_table(tmp_path, header):
    """As pandas and R write a table with its row names."""
    path = tmp_path / "ranks.csv"
    for cells, form in (
        ("tea,milk,water\nann,1,2,3\nbob,2,1,3\n", None),
        ("rank_1,rank_2\nann,tea,milk\nbob,milk,tea\n", None),
        ("tea,milk\nann,5,3\nbob,2,4.5\n", "ratings"),
    ):
        path.write_text(f"{header},{cells}")
        reading = mm.read(path, format=form)
        assert reading.comparisons.users.tolist() == ["ann", "bob"]
        assert (
            {"tea", "milk"}
            <= set(reading.comparisons.items.tolist())
            <= {*["tea", "milk", "water"]}
        )
        assert header.startswith("U") or form or said(reading, "user from the first column")


def test_labels_of_rows_beside_a_column_of_users_are_no_item(tmp_path):
    path = tmp_path / "ranks.csv"
    path.write_text(",voter,tea,milk,water\n0,ann,1,2,3\n1,bob,3,1,2\n")
    reading = mm.read(path)
    assert reading.comparisons.users.tolist() == ["ann", "bob"]
    assert reading.comparisons.items.tolist() == ["milk", "tea", "water"]


def test_labels_of_rows_are_nobody_in_a_long_table(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(",winner,loser\n0,tea,milk\n1,milk,water\n")
    with pytest.raises(DataError, match="user"):
        mm.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "user,tea,milk,water\nann,5,5,4\nbob,3,1,2\n",  # stars
        "user,tea,milk,age\nann,1,2,33\nbob,2,1,44\n",
        "1,2,3\n3,1,2\n2,1,3\n",  # no header
        "user,tea,milk\nann,1,2\nbob,2,1\n",  # too few columns to be sure
    ],
)
def test_what_may_be_no_rank_matrix_must_be_named(tmp_path, text):
    path = tmp_path / "ranks.csv"
    path.write_text(text)
    with pytest.raises(DataError):
        mm.read(path)


def test_a_column_of_names_in_a_rank_matrix_brings_the_option_for_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranks.csv").write_text("name,tea,milk\nann,1,2\nbob,2,1\n")
    with pytest.raises(DataError, match=r'holds the users, pass columns=\{"user": "name"\}'):
        mm.read("ranks.csv", format="rankings")
    _, complaint = run("check", "ranks.csv", "--format", "rankings", code=1)
    assert "If 'name' holds the users, pass --columns user=name." in complaint
    known = mm.read("ranks.csv", format="rankings", columns={"user": "name"})
    assert known.comparisons.users.tolist() == ["ann", "bob"]
    (tmp_path / "ranks.csv").write_text("user,tea,milk\nann,1,best\nbob,2,1\n")
    with pytest.raises(DataError, match=r"1 is best\.$"):
        mm.read("ranks.csv", format="rankings")


@pytest.mark.parametrize(
    "header",
    [
        "user,a,b,rank_a,rank_b",
        "user,item1,item2,rank1,rank2",
        "user,left,right,left_rank,right_rank",
    ],
)
def test_two_candidates_with_two_ranks(tmp_path, header):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\nann,tea,milk,1,2\nbob,tea,milk,2,1\nbob,tea,water,1,1\n")
    reading = mm.read(path, ties="half")
    assert (reading.form, reading.n_ties) == ("battles", 1)
    assert reading.comparisons == mm.Comparisons.from_arrays(
        ["ann", "bob", "bob", "bob"],
        ["tea", "milk", "tea", "water"],
        ["milk", "tea", "water", "tea"],
        [1, 1, 0.5, 0.5],
    )
    assert reading.sides.left_won.tolist() == [True, False]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("user,left,right,answer", ("left", "right")),
        ("user,option_1,option_2,choice", ("1", "2")),
        ("user,option_1,option_2,answer", ("option 1", "option 2")),
        ("user,a,b,preferred", ("a", "b")),
    ],
)
def test_two_candidates_and_an_answer(tmp_path, header, words):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\nann,tea,milk,{words[0]}\nbob,tea,milk,{words[1]}\n")
    assert mm.read(path).comparisons == mm.Comparisons.from_arrays(
        ["ann", "bob"], ["tea", "milk"], ["milk", "tea"]
    )


def test_minus_one_is_not_the_first(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("user,option_1,option_2,answer\nann,tea,milk,-1\nbob,tea,milk,1\n")
    with pytest.raises(DataError, match="Unknown outcomes, with how often they occur: '-1'"):
        mm.read(path)


def test_a_blank_session_is_named(tmp_path):
    path = tmp_path / "ranks.csv"
    path.write_text(
        "user,session,item,rank\nann,s1,tea,1\nann,s1,milk,2\nann,,tea,2\nann,,milk,1\n"
    )
    with pytest.raises(DataError, match="line 4: the session is missing"):
        mm.read(path)
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("user,impression,item,clicked\nann,1,tea,1\nann,1,milk,0\nann,,tea,1\n")
    with pytest.raises(DataError, match="line 4: the impression is missing"):
        mm.read(clicks)
    assert mm.read(path, missing="drop").comparisons == mm.Comparisons.from_arrays(
        ["ann"], ["tea"], ["milk"]
    )


# ---- large and empty ----


@pytest.mark.slow
def test_two_hundred_thousand_names_of_preflib(tmp_path):
    """Seconds; it took minutes while it was quadratic in the names."""
    n = 200_000
    names = "".join(f"# ALTERNATIVE NAME {i}: a{i % (n - 1)}\n" for i in range(1, n + 1))
    (tmp_path / "large.soi").write_text(f"# NUMBER ALTERNATIVES: {n}\n{names}1: 1,2,3\n")
    found = mm.read(tmp_path / "large.soi").comparisons
    assert (found.n_items, found.n_comparisons) == (n, 3)
    assert f"a1 ({n})" in found.items


@pytest.mark.slow
def test_two_hundred_thousand_ratings_of_nothing():
    n = 200_000
    items = np.arange(n)
    for rating in ([None] * n, [""] * n, [3] * n, [*["4"] * (n - 1), "x"]):
        with pytest.raises(DataError):
            mm.read({"user": ["ann"] * n, "item": items, "rating": rating})


def test_the_command_line_has_the_same_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.data").write_bytes(text_of(ROWS, ";", None).encode("latin-1"))
    _, complaint = run("check", "votes.data", code=1)
    assert "--format comparisons" in complaint
    _, complaint = run("check", "votes.data", "--format", "comparisons", code=1)
    assert "--encoding cp1252" in complaint
    options = ("--format", "comparisons", "--encoding", "latin-1")
    _, complaint = run("check", "votes.data", *options, code=1)
    assert "--no-header" in complaint
    printed, _ = run("check", "votes.data", *options, "--no-header", "--json")
    assert json.loads(printed)["n_comparisons"] == 3
