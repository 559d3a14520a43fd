"""Names for components and items: kept in the file, shown everywhere, numbers unchanged."""

import csv
import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError, FileError
from tests.command_line import run

ORDERS = [["a", "b", "c", "d"], ["d", "c", "a", "b"]]


@pytest.fixture(scope="module")
def model():
    """Two components, with a predictor and a member, so that labels are in several models."""
    votes = mm.M4.from_orders(ORDERS, phi=0.3).sample(60, 20, seed=1).comparisons
    return mm.fit(votes, 2, n_fits=2, seed=0)


@pytest.mark.slow
def test_names_of_components_are_shown_and_kept(model, tmp_path):
    named = model.named({2: " mostly   spicy "})
    assert named.component_names == ("", "mostly spicy")
    assert "mostly spicy: " in repr(named) and "mostly spicy" in named._repr_html_()
    assert {row["component"]: row["name"] for row in named.table()} == {1: "", 2: "mostly spicy"}
    mm.save(named, tmp_path / "named.m4")
    loaded = mm.load(tmp_path / "named.m4")
    assert loaded == named and loaded != model
    assert loaded.named(["plain"]).component_names == ("plain", "mostly spicy")
    assert loaded.named({2: ""}) == model  # without a name it is the model of before


def test_results_about_people_and_items_have_the_names_of_components(model):
    named = model.named(["comfort", "mostly spicy"])
    mine = [("me", "a", "b"), ("me", "c", "d")]
    columns = ["user", "component_1 (comfort)", "component_2 (mostly spicy)"]
    theta = mm.weights(named, mine)
    assert theta.to_frame("pyarrow").column_names == columns
    assert "component 1 (comfort)" in theta._repr_html_()
    assert columns[1] in mm.weight_intervals(named, mine).to_frame("pyarrow").column_names
    assert mm.leaderboard(named).to_frame("pyarrow").column_names[-2:] == columns[1:]
    said = mm.explain_user(named, mine).summary()
    assert "(comfort), " in said or "(mostly spicy), " in said
    assert mm.weights(model, mine).to_frame("pyarrow").column_names[1] == "component_1"


def test_a_model_without_names_keeps_its_bytes(model, tmp_path):
    mm.save(model, tmp_path / "before.m4")
    mm.save(model.named({1: "x"}).named({1: ""}), tmp_path / "after.m4")
    assert (tmp_path / "after.m4").read_bytes() == (tmp_path / "before.m4").read_bytes()
    assert b"component_names" not in (tmp_path / "before.m4").read_bytes()


@pytest.mark.parametrize("names", [{0: "x"}, {3: "x"}, {"1": "x"}, ["x", "y", "z"], ["x", "x"]])
def test_wrong_names_of_components_are_refused(model, names):
    with pytest.raises(DataError, match=r"no component|Two components are called 'x'"):
        model.named(names)


def test_new_labels_change_no_number(model):
    renamed = model.named(items={"a": "Zest", "b": "Beans, baked"})
    assert renamed.items.tolist() == ["Zest", "Beans, baked", "c", "d"]
    mine = [("me", "a", "b"), ("me", "c", "d")]
    theirs = [("me", "Zest", "Beans, baked"), ("me", "c", "d")]
    before = mm.predict(model, mine, [("a", "c"), ("d", "b")])
    after = mm.predict(renamed, theirs, [("Zest", "c"), ("d", "Beans, baked")])
    assert np.array_equal(np.asarray(before), np.asarray(after))
    assert np.array_equal(np.asarray(mm.weights(model, mine)), mm.weights(renamed, theirs))
    with pytest.raises(DataError, match=r"The model has no item 'aa'; it has 4 others\."):
        model.named(items={"aa": "x"})
    with pytest.raises(DataError, match="not all different"):
        model.named(items={"a": "c"})


def write_names(path, rows, header="id,label,description,picture"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_names_of_items_are_read_from_a_file(tmp_path):
    rows = ['7,"Peace, love",said ""so"",p.png', "8,Tea"]
    names = mm.read_item_names(write_names(tmp_path / "names.csv", rows)).names
    assert (names["7"].label, names["7"].picture) == ("Peace, love", "p.png")
    assert (names["8"].label, names["8"].description, names["8"].picture) == ("Tea", "", "")


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (["7,tea"], "number,what", "needs a header with the columns id and label"),
        (["7,tea", "7,milk"], "id,label", "line 3: the id '7' is there twice"),
        (["7,tea", "8,tea"], "id,label", "'7' and '8' have the same label 'tea'"),
        (["7,"], "item,name", "line 2 lacks an id or a label"),
    ],
)
def test_wrong_files_of_names_are_refused(tmp_path, rows, header, said):
    with pytest.raises(DataError, match=said):
        mm.read_item_names(write_names(tmp_path / "names.csv", rows, header))
    with pytest.raises(FileError, match="There is no file"):
        mm.read_item_names(tmp_path / "none.csv")


def test_comparisons_with_labels_are_those_of_a_table_with_labels(tmp_path):
    """The same as if the labels had been in the table from the start."""
    labels = {"1": "pear", "2": "apple", "3": "fig"}
    rows = [("u", "1", "2"), ("u", "3", "1"), ("v", "2", "3"), ("v", "2", "3")]
    names = mm.read_item_names(
        write_names(tmp_path / "n.csv", [f"{a},{b}" for a, b in labels.items()], "id,label")
    )
    expected = mm.read_comparisons([(u, labels[a], labels[b]) for u, a, b in rows])
    assert names.renamed(mm.read_comparisons(rows)) == expected
    with pytest.raises(DataError, match="None of the 2 items has a name"):
        names.renamed(mm.read_comparisons([("u", "x", "y")]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    votes = mm.M4.from_orders(ORDERS, phi=0.3).sample(40, 20, seed=1).comparisons
    with (folder / "votes.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("user", "winner", "loser"))
        for user, winner, loser, weight in zip(*votes.to_arrow().columns[:4], strict=True):
            lines.writerows([(str(user), str(winner), str(loser))] * int(weight.as_py()))
    write_names(folder / "names.csv", ["a,Apple pie", "b,Beans", "c,Curry", "d,Dal"])
    return folder


@pytest.mark.slow
def test_the_command_line_shows_names_everywhere(folder):
    votes, names, file = folder / "votes.csv", folder / "names.csv", folder / "model.m4"
    with_names = (votes, "--item-names", names)
    fit = ("fit", *with_names, "-k", 2, "--no-predictor", "--refine", "short", "-o", file)
    assert "Apple pie" in run(*fit)[0]
    run("name", file, "1=comfort", "2=mostly spicy", "-q")
    for words in (("show", file), ("weights", file, *with_names)):
        said = " ".join(run(*words)[0].split())
        assert "comfort" in said and "mostly spicy" in said
    values = json.loads(run("show", file, "--json")[0])
    assert {row["name"] for row in values["components"]} == {"comfort", "mostly spicy"}
    csv_file = folder / "weights.csv"
    run("weights", file, *with_names, "-o", csv_file, "-q")
    assert csv_file.read_text().startswith("user,component_1 (comfort),component_2 (mostly spicy),")
    board = run("leaderboard", file)[0]
    assert "(c1: comfort, c2: mostly spicy)" in " ".join(board.split())
    assert "Curry" in run("rank", file, *with_names, "--user", "u01", "--n-top", 4)[0]
    page = folder / "report.html"
    run("report", file, *with_names, "-o", page, "--quick")
    text = page.read_text(encoding="utf-8")
    assert text.count("Taste 1: comfort") >= 2 and "Taste 2: mostly spicy" in text
    _, said = run("weights", file, votes, code=1)  # identifiers alone
    assert "items are unknown: 'a', 'b', 'c', 'd'" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "There is nothing to name"),
        (("comfort",), 2, "'comfort' does not fit: write a component's number"),
        (("1=a", "1=b"), 2, "'1=b' does not fit"),
        (("9=a",), 1, "There is no component 9: the model has 2"),
    ],
)
def test_wrong_names_on_the_command_line(tmp_path, words, code, said):
    mm.save(mm.M4.from_orders(ORDERS, phi=0.3), tmp_path / "model.m4")
    assert said in run("name", tmp_path / "model.m4", *words, code=code)[1]
