"""CSV files that a spreadsheet may open: no label is a formula there, and reading undoes it."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.assess.user_attributes import read_attributes
from mallowmix.data.labels import as_labels
from mallowmix.data.spreadsheet_text import escaped, unescaped
from mallowmix.web.export import as_csv
from mallowmix.web.item_names import read_items
from mallowmix.writers import write_table
from tests.command_line import run

FORMULAS = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "'=1", "''@x", "\t=1", "=", "+x"]
PLAIN = ["tea", "'tis", "-5", "+1.5", "", "'", "a=b", "100%"]


@given(st.text(alphabet="'=+-@\t\r\n ab1.,", max_size=6))
def test_what_is_written_is_no_formula_and_comes_back(label):
    written = escaped(label)
    assert unescaped(written) == label
    bare = label.lstrip("'")
    number = bare[1:].strip("0123456789.,") == ""
    if written[:1] in tuple("=@\t\r\n") or (written[:1] in ("+", "-") and not number):
        raise AssertionError(written)


def test_labels_that_are_no_formulas_stay_as_they_are():
    assert [escaped(label) for label in PLAIN] == PLAIN
    assert [escaped(label) for label in FORMULAS] == ["'" + label for label in FORMULAS]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_labels_come_back_from_files(tmp_path, ending):
    labels = [label for label in FORMULAS + PLAIN if label.strip()]
    votes = mm.Comparisons.from_arrays(labels, labels, labels[1:] + labels[:1])
    path = tmp_path / f"votes{ending}"
    write_table(votes.to_arrow(), path)
    assert mm.read_comparisons(path) == votes
    stored = mm.store_comparisons(path, tmp_path / "votes.blocks")
    assert sorted(map(str, stored.items)) == sorted(map(str, votes.items))


def test_names_and_attributes_of_a_spreadsheet_read_back(tmp_path):
    """What `escaped` wrote into files of names, attributes and items is undone there, too."""
    names, groups, items = (tmp_path / f"{name}.csv" for name in ("names", "groups", "items"))
    names.write_text("id,label\n'=1,'@tea\n2,'tis\n")
    assert mm.read_item_names(names).labels_of(["=1", "2"]) == {"=1": "@tea", "2": "'tis"}
    groups.write_text("user,team\n'=ann,'+x\n")
    assert read_attributes(groups, as_labels(["=ann"])) == {"team": ["+x"]}
    items.write_text("item,about\n'=tea,hot\nmilk,\n")
    assert read_items(items) == ["=tea", "milk"]


def test_the_export_of_a_survey_is_safe_and_reads_back(tmp_path):
    table = mm.Comparisons.from_arrays(["u"] * 3, FORMULAS[:3], FORMULAS[3:6]).to_arrow()
    path = tmp_path / "votes.csv"
    path.write_bytes(as_csv(table.select(["user", "winner", "loser"])))
    with path.open(newline="") as file:
        cells = [cell for row in list(csv.reader(file))[1:] for cell in row]
    assert not any(cell.startswith(tuple("=+-@\t")) for cell in cells)
    assert mm.read_comparisons(path) == mm.read_comparisons(table)


def test_tables_and_show_escape_what_a_spreadsheet_would_run(tmp_path):
    """Weights, rankings and components of dangerous labels: none begins with a formula."""
    model = mm.M4.from_orders([["=1+1", "@x", "tea"], ["tea", "@x", "=1+1"]])
    mm.save(model.named(["=cmd()", "+plain"]), tmp_path / "m.m4")
    votes = tmp_path / "votes.csv"
    votes.write_text("user,winner,loser\n'=ann,'=1+1,tea\n'=ann,'@x,tea\n'@bob,tea,'=1+1\n")
    run("weights", tmp_path / "m.m4", votes, "-o", tmp_path / "w.csv")
    run("rank", tmp_path / "m.m4", votes, "-o", tmp_path / "r.csv")
    shown = run("show", tmp_path / "m.m4", "--csv")[0]
    texts = [(tmp_path / name).read_text() for name in ("w.csv", "r.csv")] + [shown]
    for text in texts:
        cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=@" and cell]
    assert "'=ann" in texts[0] and "'=1+1" in texts[1] and "'=cmd()" in shown
    people = mm.read_comparisons(votes)
    assert people.users.tolist() == ["=ann", "@bob"] and "=1+1" in people.items.tolist()
    groups = {"user": people.users, "team": ["a", "b"]}
    (tmp_path / "teams.csv").write_text("user,team\n'=ann,a\n'@bob,b\n")
    first, second = (
        mm.compare_groups(model, people, each, n_permutations=19)
        for each in (groups, tmp_path / "teams.csv")
    )
    assert first.to_dict() == second.to_dict()
