"""Arguments of every wrong kind: a function answers, or says in one sentence what it needs."""

import inspect

import numpy as np
import pandas as pd
import pytest

import mallowmix as mm
from mallowmix.errors import MallowmixError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
ROWS = [("u", "a", "b"), ("v", "b", "c"), ("w", "c", "a"), ("u", "b", "c")]
VOTES = mm.read_comparisons(ROWS)
MODEL = mm.M4.from_orders(["abc", "cab"], 0.2)
WRONG = {
    "none": None,
    "empty text": "",
    "fraction": 3.5,
    "negative": -1,
    "nan": float("nan"),
    "infinite": float("inf"),
    "huge": 10**30,
    "list": [],
    "nested": [[]],
    "mapping": {"a": 1},
    "folder": ".",
    "null byte": "a\0b",
    "object": object(),
    "bytes": b"x",
    "true": True,
    "dataframe": pd.DataFrame({"x": [1, 2]}),
    "array": np.ones(3),
    "function": len,
    "set": {1, 2},
}
# functions with arguments that are right; each argument and option is then replaced by wrong ones
CALLS = {
    "fit_prior": (MODEL, VOTES),
    "heldout": (MODEL, VOTES, "completion"),
    "read_choix": ([(0, 1), (1, 2)],),
    "read_item_names": ("names.csv",),
    "read_preflib": ("votes.soc",),
    "read_rankings": ({"user": ["u", "u"], "item": ["a", "b"], "rank": [1, 2]},),
    "read_battles": ("battles.csv",),
    "read_best_worst": ("votes.csv",),
    "read_implicit": ("votes.csv",),
    "store_comparisons": ("votes.csv", "votes.blocks"),
    "sample_profile": (MODEL, 5),
    "split_items": (VOTES,),
    "match_components": (MODEL.sigma, MODEL.sigma),
    "leaderboard": (MODEL,),
    "predict": (MODEL, VOTES, [("a", "b")]),
    "rank": (MODEL, VOTES),
    "weights": (MODEL, VOTES),
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("user,winner,loser\nu,a,b\nv,b,a\n")
    (tmp_path / "battles.csv").write_text("user,left,right,outcome\nu,a,b,left\n")
    (tmp_path / "names.csv").write_text("id,label\na,A\n")
    (tmp_path / "votes.soc").write_text("# NUMBER ALTERNATIVES: 2\n1: 1,2\n")


def replaced(name):
    """The call with one argument after the other replaced by a wrong one."""
    given = CALLS[name]
    parameters = list(inspect.signature(getattr(mm, name)).parameters.values())
    for n, parameter in enumerate(parameters):
        if parameter.name == "progress":
            continue
        for kind, wrong in WRONG.items():
            if n < len(given):
                yield f"{parameter.name}: {kind}", (*given[:n], wrong, *given[n + 1 :]), {}
            elif parameter.kind is parameter.KEYWORD_ONLY:
                yield f"{parameter.name}: {kind}", given, {parameter.name: wrong}


@pytest.mark.parametrize("name", CALLS)
def test_no_error_comes_from_within(name):
    foreign, refused = [], 0
    for what, arguments, options in replaced(name):
        try:
            getattr(mm, name)(*arguments, **options)
        except MallowmixError as error:
            refused += 1
            assert "\n" not in str(error), what
        except Exception as error:
            foreign.append(f"{what}: {type(error).__name__}: {error}")
    assert foreign == []
    assert refused > len(WRONG) // 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mm.store_comparisons("votes.csv", 3), "cache is 3; it must be the name of a fol"),
        (lambda: mm.store_comparisons("votes.csv", b"x"), "cache is .*the name of a folder"),
        (lambda: mm.read_item_names("a\0b"), "path is .*the name of a file"),
        (lambda: mm.heldout(MODEL, VOTES, include_mu=np.ones(2)), "include_mu is .*True or False"),
        (lambda: mm.sample_profile(MODEL, 10**30), r"it must be below 2\*\*31"),
        (lambda: mm.weight_intervals(MODEL, VOTES, n_draws=2**31), r"n_draws is .*below 2\*\*31"),
    ],
)
def test_what_was_an_error_from_within(call, said):
    with pytest.raises(OptionError, match=said):
        call()
