"""Names for components and items: kept in the file, shown everywhere, numbers unchanged."""

import csv
import json
import re

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError, FileError
from mallowmix.learn.spectral.fit_notes import named_notes
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


@pytest.fixture(scope="module")
def named(model):
    return model.named(["comfort", "mostly spicy"])


@pytest.fixture(scope="module")
def people():
    return mm.M4.from_orders(ORDERS, phi=0.3).sample(60, 20, seed=1).comparisons


TITLES = ["1 (comfort)", "2 (mostly spicy)"]


def test_shares_of_groups_have_the_names_of_components(named, model, people):
    teams = {"user": people.users, "team": ["a", "b"] * 30}
    found = mm.compare_groups(named, people, teams, n_permutations=19)
    rows = found.to_frame("pyarrow").to_pylist()
    names = {1: "comfort", 2: "mostly spicy"}
    assert [row["name"] for row in rows] == [names[row["component"]] for row in rows]
    assert [row["name"] for row in found.to_dict()["shares"]] == ["comfort", "mostly spicy"] * 2
    assert all(title in found._repr_html_() for title in TITLES)
    bare = mm.compare_groups(model, people, teams, n_permutations=19)
    assert "name" not in bare.to_frame("pyarrow").column_names
    assert all("name" not in row for row in bare.to_dict()["shares"])
    assert [row.share for row in bare.shares] == [row.share for row in found.shares]


def test_differences_of_models_have_the_names_of_both(model):
    old, new = model.named(["comfort", ""]), mm.FittedModel(mm.M4.from_orders(ORDERS[:1], phi=0.2))
    said = mm.compare_models(old, new.named(["plain"])).words().splitlines()
    kept = mm.compare_models(old, new).couples[0].old
    assert ("Component 1 (comfort) (now 1 (plain)):" in said[0]) == (kept == 1)
    assert any("of the old model has no partner" in line for line in said)
    assert "Component 1 (comfort)" in " ".join(said)
    back = mm.compare_models(new, old)
    assert back.to_dict()["new_names"] == ["comfort", ""] and "old_names" not in back.to_dict()
    rows = back.to_frame("pyarrow").to_pylist()
    assert [row["new_name"] for row in rows] == [["comfort", ""][row["new"] - 1] for row in rows]


def test_a_diagnosis_has_the_names_of_components():
    alike = [["a", "b", "c", "d", "e", "f"], ["a", "b", "c", "d", "f", "e"]]
    m4 = mm.M4.from_orders(alike, phi=[0.3, 1.0])
    people = m4.sample(40, 10, seed=1).comparisons
    quick = {"n_simulations": 1, "refit": False}
    found = mm.diagnose(mm.FittedModel(m4).named(["comfort", "mostly spicy"]), people, **quick)
    said = found.words()
    assert "Components 1 (comfort) and 2 (mostly spicy) differ in" in said
    assert "Component 2 (mostly spicy) is unsure: it is nearly a coin" in said
    wrong = found.expected_error.kendall
    assert f"most in component {['1 (comfort)', '2 (mostly spicy)'][np.argmax(wrong)]}" in said
    assert max(wrong) > 0 and found.to_dict()["component_names"] == ["comfort", "mostly spicy"]
    bare = mm.diagnose(m4, people, **quick)
    assert "Components 1 and 2 differ in" in bare.words()
    assert "component_names" not in bare.to_dict()


@pytest.mark.slow
def test_intervals_and_mixtures_have_the_names_of_components(named, people):
    found = mm.intervals(named, people, 10)
    assert {row["name"] for row in found.table() if row["component"] == 2} == {"mostly spicy"}
    assert all(title in found._repr_html_() for title in TITLES)
    title = mm.plots.plot_intervals(found, 2).axes[0].get_title()
    assert title.startswith("Component 2 (mostly spicy): share ")
    theta = mm.weights(named, people)
    axis = mm.plots.plot_mixtures(theta).axes[0].get_xlabel()
    assert axis == "weight of comfort (the rest is mostly spicy)"
    assert "component 1" in mm.plots.plot_mixtures(np.asarray(theta)).axes[0].get_xlabel()


def test_corners_of_a_mixture_have_the_names_of_components():
    m4 = mm.M4.from_orders([*ORDERS, ["b", "a", "c", "d"]], phi=0.3)
    theta = mm.weights(mm.FittedModel(m4).named({2: "$picy"}), [("me", "a", "b")])
    labels = [text.get_text() for text in mm.plots.plot_mixtures(theta).axes[0].texts]
    assert labels == ["component 1", r"\$picy", "component 3"]


def test_an_only_component_is_called_by_its_name():
    m4 = mm.M4.from_orders(["abcd"], phi=0.5)
    means, loadings = [[1.5, 0.5, -0.5, -1.5]], np.zeros((4, 0))
    own = mm.UtilitiesModel(means, loadings, np.full(4, 9.0), [1.0], "abcd")
    model = mm.FittedModel(m4, predictor=mm.Predictor((own,), np.ones((3, 1))))
    said = mm.explain_user(model.named(["all of us"]), [("ann", "d", "a")]).summary()
    assert said.startswith("All of component 1 (all of us), the only one.")


def test_notes_of_a_fit_take_up_names_that_are_given_later(tmp_path):
    people = mm.M4.from_orders(ORDERS, phi=0.9).sample(30, 4, seed=2).comparisons
    with pytest.warns(mm.errors.MallowmixWarning):
        model = mm.fit(people, 3, predictor=False, seed=0)
    about = [note for note in model.report.notes if re.search("omponents? 1", note)]
    assert about  # as fitted, by number
    named = model.named(["comfort", "spicy", "plain"])
    said = named_notes(named)
    assert len(said) == len(model.report.notes)
    for before, after in zip(model.report.notes, said, strict=True):
        for number, name in ((1, "comfort"), (2, "spicy"), (3, "plain")):
            about_it = re.search(rf"(omponents? |, |and ){number}\b", before)
            assert (name in after) == (about_it is not None)
    assert named_notes(model) == list(model.report.notes) and named.report == model.report
    mm.save(named, tmp_path / "named.m4")
    shown = " ".join(run("show", tmp_path / "named.m4")[0].split())
    assert re.search(r"omponents? 1 \(comfort\)", shown)


def test_names_stay_with_their_rankings_where_an_update_reorders_components():
    """Components are numbered by share; another crowd puts the second ranking first."""
    orders = [list("abcdefgh"), list("hgbafecd")]
    before = mm.FittedModel(mm.M4.from_orders(orders, phi=0.2, alpha=[0.5, 0.3]))
    crowd = mm.M4.from_orders(orders, phi=0.2, alpha=[0.2, 0.6]).sample(80, 20, seed=3).comparisons
    after = mm.update(before.named(["comfort", "mostly spicy"]), crowd)
    assert after.sigma.tolist() == before.sigma.tolist()[::-1]
    assert after.component_names == ("mostly spicy", "comfort")


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
    mm.save(mm.M4.from_orders([["Dal", "Curry", "Beans", "Apple pie"]], 0.3), folder / "one.m4")
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
    teams = folder / "teams.csv"
    users = {line.split(",")[0] for line in votes.read_text().splitlines()[1:]}
    rows = [f"{user},{'ab'[n % 2]}" for n, user in enumerate(sorted(users))]
    teams.write_text("\n".join(["user,team", *rows]) + "\n")
    groups = ("compare-groups", file, *with_names, "--attributes", teams, "--n-permutations", 19)
    for words in (groups, ("intervals", file, *with_names, "--n-replicates", 10)):
        said = " ".join(run(*words)[0].split())
        assert "(comfort)" in said and "(mostly" in said, words
    run(*groups, "-o", folder / "shares.csv", "-q")
    assert (folder / "shares.csv").read_text().splitlines()[1].endswith(",comfort")
    assert "1 (comfort)" in run("compare-models", folder / "one.m4", file)[0]
    lines = run("show", file, "--csv")[0].splitlines()
    assert lines[0] == "component,share,phi,position,item,name" and lines[1].endswith(",comfort")
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


def test_notes_of_a_fit_with_user_weights_have_the_names_of_components():
    """How many people a share is worth is counted by weight, not by the number of users."""
    votes = mm.M4.from_orders([*ORDERS, list("bdac")], phi=0.3).sample(40, 15, seed=2).comparisons
    votes = mm.Comparisons.from_codes(
        votes.user,
        votes.winner,
        votes.loser,
        votes.weight,
        votes.items,
        votes.users,
        np.full(40, 0.05),
    )
    with pytest.warns(mm.errors.MallowmixWarning):
        model = mm.fit(votes, 3, predictor=False)
    unsure = [note for note in model.report.notes if " is unsure: hardly anybody" in note]
    assert unsure
    said = named_notes(model.named(["comfort", "spicy", "plain"]))
    for note in unsure:
        number = int(note.split()[1])
        name = ("comfort", "spicy", "plain")[number - 1]
        assert note.replace(f"Component {number}", f"Component {number} ({name})") in said
