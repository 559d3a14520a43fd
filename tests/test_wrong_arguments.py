"""What functions are given: whatever can be read is taken, and what is mixed up is said."""

import inspect

import numpy as np
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


DISHES = mm.load_dishes(n_users=40, per_user=20)
FOREIGN_ROWS = [("u01", "pizza", "falafel"), ("u01", "pizza", "toast"), ("u02", "toast", "tacos")]
ALONE = {"n_simulations": 0, "refit": False}
TAKE_UNKNOWN = {
    "diagnose": ALONE,
    "intervals": {"n_replicates": 10},
    "calibrate": {},
    "make_report": ALONE | {"n_replicates": 0, "choose_k": False},
    "compare_groups": {"attributes": {"user": ["u01", "u02"], "team": ["a", "b"]}},
}


@pytest.mark.parametrize("name", TAKE_UNKNOWN)
def test_an_option_that_a_message_advises_is_there(name):
    with pytest.raises(DataError, match=r'unknown: \'toast\'.*unknown_items="drop"'):
        getattr(mm, name)(DISHES.model, FOREIGN_ROWS, **TAKE_UNKNOWN[name])
    assert "unknown_items" in inspect.signature(getattr(mm, name)).parameters


def test_what_is_dropped_is_as_if_it_had_not_been_given():
    rows = DISHES.comparisons.to_arrow().to_pylist()
    mixed = [("u01", "toast", "pizza")] * 3
    for row in rows:
        mixed += [tuple(row[name] for name in NAMES)] * int(row["weight"])
    for name, read_off in {
        "diagnose": lambda found: found.to_dict(),
        "make_report": lambda found: found.contents.theta.tolist(),
    }.items():
        call, more = getattr(mm, name), TAKE_UNKNOWN[name]
        dropped = call(DISHES.model, mixed, unknown_items="drop", **more)
        assert read_off(dropped) == read_off(call(DISHES.model, DISHES.comparisons, **more))
    assert dropped.contents.n_unknown == 3
    assert "3 comparisons with things that the model does not know were left out" in dropped.html()


def test_wrong_arguments_are_one_sentence_that_names_the_right_call(tmp_path):
    choice = r"choice is an M4; it must be what `choose_k` returns. Draw choose_k\(comparisons\)"
    for call, said in {
        (lambda: mm.plots.plot_choice(MODEL)): choice,
        (lambda: mm.plots.plot_intervals(MODEL)): r"intervals\(model, comparisons\)",
        (lambda: mm.plots.plot_reliability(MODEL)): r"\.reliability",
        (lambda: mm.plots.plot_disagreement(MODEL)): r"\.disagreement",
        (lambda: mm.plots.plot_compared(MODEL)): r"compare\(comparisons\)",
        (lambda: mm.check_convergence(MODEL)): r"mallowmix.sample_posterior",
        (lambda: mm.posterior_intervals(MODEL)): r"mallowmix.sample_posterior",
        (lambda: mm.load(VOTES)): "path is .*the name of a file",
        (lambda: mm.save(MODEL, 3)): "path is 3; it must be the name of a file",
        (lambda: mm.load("")): "path is ''; it must be the name of a file",
        (lambda: mm.random_model(2.5, 2)): "n_items is 2.5; it must be a whole number",
        (lambda: mm.random_model(3, 2, phi="low")): "phi is 'low'; it must be one number",
        (lambda: mm.compare(VOTES, systems=3)): "systems is 3; it must be a list of names",
        (lambda: mm.compare_on_split(MODEL, VOTES, VOTES, VOTES)): "in a list",
        (lambda: mm.compare(VOTES, given="half")): "given is 'half'; it must be at least 0",
        (lambda: mm.make_engine([])): "engine is .*must be one of",
        (lambda: mm.weights(MODEL, VOTES, unknown_items=np.ones(2))): "unknown_items is",
    }.items():
        with pytest.raises(OptionError, match=said):
            call()


def test_long_values_are_named_by_their_kind():
    with pytest.raises(OptionError) as raised:
        mm.weights(MODEL, VOTES, method=pd.DataFrame({"a": range(50)}))
    assert str(raised.value).startswith("method is of the type DataFrame; it must be one of")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wrong", [[0.5], ["u"], 3, [[0, 1]], "uv", [0, 0], [7]])
@pytest.mark.parametrize("kind", ["comparisons", "rankings"])
def test_users_are_taken_by_number_or_by_mask(kind, wrong):
    data = {
        "comparisons": VOTES,
        "rankings": mm.Rankings.from_orders([*map(list, ("ab", "bc", "ca"))], ["u", "v", "w"]),
    }[kind]
    assert data.take_users([True, False, True]).users.tolist() == ["u", "w"]
    assert data.take_users(np.array([2, 0])).users.tolist() == ["w", "u"]
    with pytest.raises(DataError, match=r"for 3 users|there must be one each"):
        data.take_users([True, False])
    with pytest.raises(DataError, match=r"by their numbers|named twice|points to no label"):
        data.take_users(wrong)


@pytest.mark.parametrize("wrong", [None, 3, "abc", [[0], [1, 2]], {"a": 1}, VOTES, [0, 2], [0.5]])
def test_kendall_of_no_rankings(wrong):
    for couple in ((wrong, [0, 1]), ([0, 1], wrong)):
        with pytest.raises(DataError, match=r"must hold permutations"):
            mm.kendall(*couple)


def test_a_bare_model_can_be_named():
    named = MODEL.named({np.int64(1): "plain"}, items={"a": "Apple"})
    assert isinstance(named, mm.FittedModel)
    assert named.component_names == ("plain",) and named.items.tolist() == ["Apple", "b", "c"]
    for wrong, said in (
        ({True: "x"}, "no component True"),
        ({np.int64(2): "x"}, "no component 2"),
        ({1: 5}, "component 1 is an int"),
        ({1: None}, "component 1 is a NoneType"),
    ):
        with pytest.raises(DataError, match=said):
            MODEL.named(wrong)
    with pytest.raises(DataError, match="labels of items are a list"):
        MODEL.named(items=["a"])


TEAMS = {"user": ["u", "v", "w"], "team": ["a", "b", "a"]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mm.fit(VOTES, np.ones(2)), "n_components is .*must be a whole number"),
        (lambda: mm.fit(VOTES, 1, predictor=np.ones(2)), "predictor is .*True or False"),
        (lambda: mm.fit(VOTES, 1, engine=0), "engine is 0; it must be one of"),
        (lambda: mm.fit(VOTES, 1, n_jobs=2.5), "n_jobs is 2.5; it must be a whole number"),
        (lambda: mm.choose_k(VOTES, refine="ful"), "refine is 'ful'.*Did you mean 'full'"),
        (lambda: mm.calibrate(MODEL, VOTES, spam="no"), "spam is 'no'; it must be True or False"),
        (lambda: mm.compare_groups(MODEL, VOTES, TEAMS, by=3), "by is 3; it must be names of col"),
        (lambda: mm.compare_groups(MODEL, VOTES, TEAMS, by=[]), "by is .*names of columns"),
        (lambda: mm.compare_groups(MODEL, VOTES, TEAMS, user="usr"), "Did you mean 'user'"),
        (lambda: mm.compare_groups(MODEL, VOTES, TEAMS, user=["user"]), "no column .*'user'"),
        (lambda: mm.compare_groups(MODEL, VOTES, {"u": 3}), "'u' is 3, not a column"),
        (lambda: mm.components_from_topics(MODEL), "ranking_matrix"),
        (lambda: mm.load_dishes(n_users=2.5), "n_users is 2.5; it must be a whole number"),
        (lambda: mm.load_dishes(per_user="many"), "per_user is 'many'; it must be one whole"),
        (lambda: mm.next_pair(MODEL, VOTES.of("u"), answered="ab"), "answered is 'ab'.*pairs of"),
        (lambda: mm.next_pair(MODEL, VOTES.of("u"), answered=ROWS), "answered is .*pairs of items"),
        (lambda: mm.next_pair(MODEL, VOTES.of("u"), answered=None), "answered is None"),
        (lambda: mm.store_comparisons([("u", "a", "b")]), "stored from files: give a path"),
        (lambda: mm.store_comparisons([]), "stored from files: give a path"),
        (lambda: mm.read(ROWS, design=np.ones(2)), "design is for"),
        (lambda: mm.read_item_names({"a": "A"}), "path is .*the name of a file"),
        (lambda: mm.weights(MODEL, VOTES, tol=None), "tol is None; it must be a number"),
        (lambda: mm.sample_posterior(VOTES, 1, n_draws=2.5), "n_draws is 2.5; it must be a whole"),
        (lambda: mm.sample_posterior(VOTES, 1, priors="flat"), "priors is a str; it must be a `P"),
        (
            lambda: mm.sample_posterior(VOTES, 1, likelihood_weight=None),
            "likelihood_weight is None",
        ),
        (lambda: mm.sample_posterior(VOTES, 1, keep_theta="no"), "keep_theta is 'no'"),
        (
            lambda: mm.comparisons_from_ratings(pd.DataFrame(TEAMS), ["a"], [1]),
            "'user' is a DataFrame: give one column",
        ),
    ],
)
def test_a_mistake_ends_in_one_sentence(call, said):
    with pytest.raises(mm.errors.MallowmixError, match=said) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_the_likelihood_can_leave_unknown_items_out():
    model = mm.load_dishes().model
    rows = [("ann", "pizza", "tacos"), ("ann", "tacos", "ramen")]
    known = mm.read_comparisons(rows)
    more = mm.read_comparisons([*rows, ("ann", "pizza", "snow")])
    theta = [[0.2, 0.3, 0.5]]
    with pytest.raises(DataError, match="snow"):
        model.log_likelihood(more, theta)
    assert model.log_likelihood(more, theta, unknown_items="drop") == pytest.approx(
        model.log_likelihood(known, theta), rel=1e-12
    )
