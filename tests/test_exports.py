"""Exports of other tools: fixtures made by hand, the comparisons in them counted by hand."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.errors import DataError, OptionError

FOLDER = Path(__file__).parent / "data" / "exports"


def found(name, **options):
    """The comparisons of a fixture as {(user, winner, loser): weight}, and what was read."""
    reading = mm.read(FOLDER / name, **options)
    rows = reading.comparisons.to_frame("pyarrow").to_pylist()
    return {(row["user"], row["winner"], row["loser"]): row["weight"] for row in rows}, reading


def pairs(text):
    """Comparisons written as "ann: tea > milk, tea > water; bob: …", each once."""
    said = {}
    for part in text.split("; "):
        user, _, comparisons = part.partition(": ")
        for pair in comparisons.split(", "):
            winner, loser = pair.split(" > ")
            said[user, winner, loser] = 1.0
    return said


# voter 0: 0 over 1 and 3, pass on 2; voter 1 changed their mind about 0; voter 2 agrees with all
POLIS = pairs("0: 0 > 1, 0 > 3; 1: 1 > 0")
DRINKS = "ann@example.org: Tea > Water, Tea > Milk, Water > Milk; bob@example.org: Milk > Water"
CASES = {
    "polis_votes.csv": ("polis", POLIS),
    "polis_participants_votes.csv": ("polis", POLIS),
    "all_our_ideas_votes.csv": (
        "all-our-ideas",
        {
            ("10", "More benches", "Trees, many of them"): 1.0,
            ("10", "Bike lanes", "More benches"): 1.0,
            ("11", "Trees, many of them", "Bike lanes"): 1.0,
        },
    ),
    "preference_pairs.jsonl": (
        "preference-pairs",
        pairs("ann: owl-2 > fox-1, cat-9 > owl-2; bob: fox-1 > cat-9"),
    ),
    "label_studio_pairwise.json": (
        "label-studio",
        pairs("4: tea > milk, tea > water; bob@example.org: milk > tea"),
    ),
    "argilla_records.json": ("argilla", pairs("ann: milk > tea, water > tea; bob: tea > milk")),
    "argilla_labels.jsonl": ("argilla", pairs("ann: milk > tea; bob: water > tea")),
    "qualtrics_rank_order.csv": (
        "qualtrics",
        pairs(
            "R_1: Milk > Tea, Milk > Water, Tea > Water; R_2: Tea > Water, Tea > Milk, Water > Milk"
        ),
    ),
    "google_forms.csv": ("google-forms", pairs(DRINKS)),
    "google_forms_choices.csv": (
        "google-forms",
        {
            (1, "Tea", "Water"): 1.0,
            (1, "Tea", "Milk"): 1.0,
            (1, "Water", "Milk"): 1.0,
            (2, "Milk", "Water"): 1.0,
        },
    ),
    "lmarena_sessions.csv": ("lmarena", pairs("s-1: owl-2 > fox-1; s-2: cat-9 > owl-2")),
}


@pytest.mark.parametrize("name", CASES)
def test_an_export_is_recognised_and_read(name):
    form, expected = CASES[name]
    comparisons, reading = found(name)
    assert (reading.form, reading.format_given) == (form, False)
    assert comparisons == expected
    assert found(name, format=form)[0] == expected


def test_a_persons_votes_in_polis_are_one_order():
    """A voter's two comparisons share an id; the one of voter 1 is an answer of its own."""
    _, reading = found("polis_votes.csv")
    assert reading.comparisons.ranking_id.tolist() == [0, 0, -1]
    assert reading.comparisons.users.tolist() == ["0", "1", "2"]


def test_a_vote_that_polis_does_not_know_is_named_by_its_line(tmp_path):
    text = (FOLDER / "polis_votes.csv").read_text().replace(",3,0,-1", ",3,0,7")
    (tmp_path / "votes.csv").write_text(text)
    with pytest.raises(DataError, match=r"votes.csv line 5: the vote is '7'"):
        mm.read(tmp_path / "votes.csv")


@settings(max_examples=40, deadline=None)
@given(
    votes=st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 4)), st.sampled_from([1, 0, -1]), min_size=1
    )
)
def test_polis_long_and_wide_against_a_slow_twin(votes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("polis")
    long = "".join(
        f"{n},{item},{who},{vote}\n" for n, ((who, item), vote) in enumerate(votes.items())
    )
    (folder / "votes.csv").write_text("timestamp,comment-id,voter-id,vote\n" + long)
    wide = "".join(
        f"{who},0,0,{','.join(str(votes.get((who, item), '')) for item in range(5))}\n"
        for who in sorted({who for who, _ in votes})
    )
    (folder / "wide.csv").write_text("participant,n-agree,n-disagree,0,1,2,3,4\n" + wide)
    expected = {
        (str(who), str(item), str(other)): 1.0
        for (who, item), vote in votes.items()
        for (same, other), less in votes.items()
        if (who, vote, less) == (same, 1, -1)
    }
    for name in ("votes.csv", "wide.csv"):
        if expected:
            assert found(folder / name)[0] == expected
        else:
            with pytest.raises(DataError, match="no comparisons"):
                found(folder / name)


def test_all_our_ideas_knows_sides_and_leaves_out_what_is_not_valid():
    _, reading = found("all_our_ideas_votes.csv")
    sides = reading.sides
    items = reading.comparisons.items
    assert [items[left] for left in sides.left] == ["More benches", "More benches", "Bike lanes"]
    assert sides.left_won.tolist() == [True, False, False]
    assert any("1 of 4 votes" in str(note) for note in reading.notes)


@pytest.mark.parametrize("name", ["sawtooth_answers.csv", "sawtooth_positions.csv"])
def test_sawtooth_by_number_of_item_or_position_on_the_screen(name):
    """Task 1 of version 1 shows 13, 18, 11, task 2 shows 18, 7, 24; version 2 shows 11, 13, 24."""
    expected = pairs(
        "1: 13 > 18, 13 > 11, 11 > 18, 24 > 7, 24 > 18, 18 > 7; 2: 11 > 24, 11 > 13, 13 > 24"
    )
    design = FOLDER / "sawtooth_design.csv"
    comparisons, reading = found(name, design=design)
    assert (reading.form, comparisons) == ("sawtooth", expected)
    assert found(name, format="sawtooth", design=str(design))[0] == expected
    assert len(set(reading.comparisons.ranking_id[:6].tolist())) == 2  # one for each task


def test_sawtooth_without_its_design_says_what_to_give():
    with pytest.raises(OptionError) as raised:
        found("sawtooth_answers.csv")
    assert raised.value.option == "design"
    with pytest.raises(OptionError, match="is for sawtooth"):
        found("polis_votes.csv", design=FOLDER / "sawtooth_design.csv")


def test_preference_pairs_may_be_the_answers_themselves():
    columns = {"winner": "chosen", "loser": "rejected"}
    comparisons, _ = found("preference_pairs.jsonl", format="preference-pairs", columns=columns)
    assert ("bob", "A birch.", "The oak.") in comparisons
    table = {"chosen": ["x"], "rejected": ["y"], "annotator": ["ann"]}
    assert mm.read(table).form == "preference-pairs"
    with pytest.raises(DataError, match="does not say who chose"):
        mm.read({"chosen": ["x"], "rejected": ["y"]})


def test_conversations_are_no_items(tmp_path):
    talk = [{"role": "user", "content": "hello"}]
    row = {"chosen": talk, "rejected": talk, "annotator": "ann"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match=r'columns=."winner": "chosen_model"'):
        mm.read(tmp_path / "pairs.jsonl")


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        (
            "label_studio_pairwise.json",
            {"left": "data.model_1", "right": "data.model_2"},
            "4: owl > fox, owl > cat; bob@example.org: fox > owl",
        ),
        (
            "argilla_records.json",
            {"left": "metadata.model_1", "right": "metadata.model_2"},
            "ann: fox > owl, cat > owl; bob: owl > fox",
        ),
    ],
)
def test_models_instead_of_answers(name, columns, expected):
    form = CASES[name][0]
    assert found(name, format=form, columns=columns)[0] == pairs(expected)


def test_qualtrics_names_its_questions_and_leaves_previews_out(tmp_path):
    _, reading = found("qualtrics_rank_order.csv")
    assert any("1 previews" in str(note) for note in reading.notes)
    text = (FOLDER / "qualtrics_rank_order.csv").read_text()
    text = text.replace(",Kettle,Cow\n", ",1,2\n").replace(",,Cow\n", ",2,1\n")
    (tmp_path / "two.csv").write_text(text)
    with pytest.raises(DataError, match="begin with the columns 'Q1_1', 'Q3_1'"):
        mm.read(tmp_path / "two.csv")
    second, _ = found(tmp_path / "two.csv", format="qualtrics", columns={"ranking": "Q3_1"})
    assert second == pairs("R_1: Kettle > Cow; R_2: Cow > Kettle")


def test_the_tsv_of_qualtrics_is_utf_16(tmp_path):
    import csv

    with (FOLDER / "qualtrics_rank_order.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    with (tmp_path / "export.tsv").open("w", encoding="utf-16", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(rows)
    assert found(tmp_path / "export.tsv")[0] == CASES["qualtrics_rank_order.csv"][1]


def test_an_answer_that_is_no_position(tmp_path):
    text = (FOLDER / "google_forms.csv").read_text().replace("2nd choice", "maybe")
    (tmp_path / "form.csv").write_text(text)
    with pytest.raises(DataError, match="line 2: the answer 'maybe' to 'Rank these drinks"):
        mm.read(tmp_path / "form.csv")


def test_lmarena_counts_ties_and_both_bad_apart():
    _, reading = found("lmarena_sessions.csv")
    assert (reading.n_ties, reading.n_both_bad) == (1, 1)
    halves, _ = found("lmarena_sessions.csv", ties="half")
    assert halves["s-2", "fox-1", "cat-9"] == halves["s-2", "cat-9", "fox-1"] == 0.5


def test_lmarena_with_a_column_for_each_outcome():
    with pytest.raises(DataError, match="does not say who chose"):
        found("lmarena_columns.csv")
    comparisons, reading = found("lmarena_columns.csv", format="lmarena", one_user=True)
    assert comparisons == pairs("everybody: owl-2 > fox-1, cat-9 > owl-2")
    assert reading.n_ties == 1


def test_exports_with_usual_names_stay_what_they_were():
    assert mm.read({"judge": ["a"], "model_a": ["x"], "model_b": ["y"], "winner": ["x"]}).form == (
        "battles"
    )
    assert mm.read([("ann", "tea", "milk")]).form == "comparisons"


JSON = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["left", "a", "b", "response_1", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "data",
                    "annotations",
                    "result",
                    "type",
                    "value",
                    "selected",
                    "to_name",
                    "a",
                    "rank",
                    "fields",
                    "responses",
                    "values",
                    "user_id",
                    "completed_by",
                    "response_1",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries({"data": JSON, "annotations": JSON})
        | st.fixed_dictionaries({"fields": JSON, "responses": JSON}),
        min_size=1,
        max_size=3,
    )
)
def test_no_json_ends_in_a_foreign_error(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "tasks.json"
    path.write_text(json.dumps(rows))
    for form in ("label-studio", "argilla", None):
        with contextlib.suppress(mm.errors.MallowmixError):
            mm.read(path, format=form)


def test_every_export_is_in_the_documentation():
    """Each fixture is read by a command of docs/data/exports.md, which the docs' test runs."""
    page = (Path(__file__).parents[1] / "docs" / "data" / "exports.md").read_text(encoding="utf-8")
    for name in sorted(file.name for file in FOLDER.iterdir()):
        assert name in page, name


def test_fixtures_are_small():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 20_000
