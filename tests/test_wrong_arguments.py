"""What functions are given: whatever can be read is taken, and what is mixed up is said."""

import inspect

import pandas as pd
import polars as pl
import pytest

import mallowmix as mm
from mallowmix.errors import DataError, FileError, OptionError

ROWS = [("u", "a", "b"), ("v", "b", "c"), ("w", "c", "a"), ("u", "b", "c")]
VOTES = mm.read_comparisons(ROWS)
MODEL = mm.M4.from_orders(["abc"], 0.2)
NAMES = ["user", "winner", "loser"]
# functions whose first parameter is a model, with what else they need
TAKE_A_MODEL = {
    "weights": (VOTES,),
    "weight_intervals": (VOTES,),
    "predict": (VOTES, [("a", "b")]),
    "rank": (VOTES,),
    "explain_user": (VOTES,),
    "next_pair": (VOTES,),
    "leaderboard": (),
    "heldout": (VOTES,),
    "predict_ratings": (VOTES, VOTES),
    "fit_prior": (VOTES,),
    "intervals": (VOTES,),
    "diagnose": (VOTES,),
    "compare_groups": (VOTES, {}),
    "calibrate": (VOTES,),
    "update": (VOTES,),
    "make_report": (VOTES,),
    "save": ("x.m4",),
    "sample_profile": (5,),
    "compare_models": (MODEL,),
}


@pytest.mark.parametrize("name", TAKE_A_MODEL)
@pytest.mark.parametrize(
    "wrong", ["model.m4", VOTES, ROWS, None], ids=["path", "votes", "list", "none"]
)
def test_what_is_no_model_is_refused_before_anything_is_done(name, wrong):
    with pytest.raises(OptionError) as raised:
        getattr(mm, name)(wrong, *TAKE_A_MODEL[name])
    assert raised.value.option == ("old" if name == "compare_models" else "model")
    assert raised.value.expected == "a model"
    if wrong == "model.m4":
        assert "mallowmix.load('model.m4')" in str(raised.value)


def test_no_function_of_a_model_is_forgotten():
    found = {
        name
        for name in dir(mm)
        if inspect.isfunction(call := getattr(mm, name))
        and next(iter(inspect.signature(call).parameters), "") in ("model", "old")
    }
    assert found == set(TAKE_A_MODEL)


@pytest.mark.parametrize(
    "kind", ["path", "str", "pandas", "polars", "tuples", "mapping", "reading"]
)
def test_whatever_can_be_read_is_taken(kind, tmp_path):
    path = tmp_path / "votes.csv"
    pd.DataFrame(ROWS, columns=NAMES).to_csv(path, index=False)
    source = {
        "path": path,
        "str": str(path),
        "pandas": pd.DataFrame(ROWS, columns=NAMES),
        "polars": pl.DataFrame(ROWS, schema=NAMES, orient="row"),
        "tuples": ROWS,
        "mapping": dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)),
        "reading": mm.read(ROWS),
    }[kind]
    source = (
        {name: list(column) for name, column in source.items()} if kind == "mapping" else source
    )
    expected = mm.weights(MODEL, VOTES)
    assert (mm.weights(MODEL, source).values == expected.values).all()
    assert mm.check(source).n_comparisons == 4
    assert mm.rank(MODEL, source).users.tolist() == ["u", "v", "w"]
    assert mm.read_comparisons(source) == VOTES


@pytest.mark.parametrize("call", [mm.read, mm.fit, mm.check], ids=["read", "fit", "check"])
def test_a_model_is_not_comparisons(call, tmp_path):
    with pytest.raises(DataError, match=r"is a model, not comparisons.*mallowmix.weights\(model"):
        call(MODEL)
    mm.save(MODEL, tmp_path / "model.m4")
    with pytest.raises(FileError, match=r"model.m4 is a model, not comparisons"):
        call(tmp_path / "model.m4")


def test_a_list_of_files_says_what_to_write(tmp_path):
    for files in (["votes-1.csv", "votes-2.csv"], [tmp_path / "votes"]):
        with pytest.raises(DataError, match=r"a pattern such as 'votes-\*.csv'"):
            mm.read(files)
