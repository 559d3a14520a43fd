"""MixedMallows keeps scikit-learn's contract and equals the functions."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mallowmix as mm
from mallowmix.errors import DataError, DataWarning

quiet = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")

# Every check passes with the default method, but for those that cannot hold; each with its reason.
NO_CLASSIFIER = (
    "the check takes whatever has predict_proba and accepts sparse data for a classifier"
)
EXPECTED_FAILURES: dict[str, str] = {
    "check_estimator_sparse_array": NO_CLASSIFIER,
    "check_estimator_sparse_matrix": NO_CLASSIFIER,
}


@pytest.mark.slow
@quiet
@parametrize_with_checks(
    [mm.MixedMallows(predictor=False)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def population():
    orders = [list("abcdefgh"), list("hgfedcba"), list("dbhfacge")]
    return mm.M4.from_orders(orders, phi=0.2, alpha=0.2).sample(300, 60, seed=3)


def as_matrix(comparisons):
    shape = (comparisons.n_users, comparisons.n_items**2)
    return sp.coo_array(
        (comparisons.weight, (comparisons.user, comparisons.pair)), shape=shape
    ).tocsr()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spectral", "projections"])
@quiet
def test_the_class_equals_the_functions(population, method):
    model = mm.fit(population.comparisons, 3, method=method, seed=5, predictor=False)
    estimator = mm.MixedMallows(3, method=method, random_state=5, predictor=False).fit(
        population.comparisons
    )
    assert estimator.model_ == model
    np.testing.assert_array_equal(
        estimator.transform(population.comparisons), mm.weights(model, population.comparisons)
    )
    np.testing.assert_array_equal(estimator.components_, model.beta().reshape(3, -1))


@pytest.mark.slow
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.csr_array.toarray])
@quiet
def test_probabilities_are_those_of_predict(population, form):
    """Of given pairs, by number or by label; of every column of X unless given, ½ for an item with
    itself.
    """
    X, votes = form(as_matrix(population.comparisons)), population.comparisons
    estimator = mm.MixedMallows(3, random_state=5, predictor=False).fit(votes)
    named = [("a", "b"), ("h", "c")]
    expected = mm.predict(estimator.model_, votes, named)
    np.testing.assert_array_equal(estimator.predict_proba(votes, named), expected)
    np.testing.assert_array_equal(estimator.predict_proba(votes, [(0, 1), (7, 2)]), expected)
    from_matrix = mm.MixedMallows(3, random_state=5, predictor=False).fit(X)
    np.testing.assert_array_equal(from_matrix.predict_proba(X, [(0, 1), (7, 2)]), expected)
    table = from_matrix.predict_proba(X)
    assert table.shape == (300, 64) and (table[:, ::9] == 0.5).all()
    np.testing.assert_array_equal(table[:, [0 * 8 + 1, 7 * 8 + 2]], expected)
    square = table.reshape(300, 8, 8)
    np.testing.assert_allclose(square + square.transpose(0, 2, 1), 1)


@pytest.mark.slow
@quiet
def test_random_state_is_a_seed_or_scikit_learns_own(population):
    votes = population.comparisons
    fits = [
        mm.MixedMallows(2, random_state=state, predictor=False).fit(votes).model_
        for state in (7, np.random.RandomState(3), np.random.RandomState(3))
    ]
    assert fits[0] == mm.fit(votes, 2, seed=7, predictor=False)
    assert fits[1] == fits[2] != fits[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.csr_array.toarray])
@quiet
def test_a_matrix_of_counts_equals_the_comparisons(population, form):
    """Users and items are numbered alike, so the arrays must be the same to the last bit."""
    X = form(as_matrix(population.comparisons))
    from_matrix = mm.MixedMallows(3, predictor=False).fit(X)
    from_rows = mm.fit(population.comparisons, 3, predictor=False)
    np.testing.assert_array_equal(from_matrix.model_.sigma, from_rows.sigma)
    np.testing.assert_array_equal(from_matrix.model_.phi, from_rows.phi)
    np.testing.assert_array_equal(
        from_matrix.transform(X), mm.weights(from_rows, population.comparisons)
    )


@pytest.mark.slow
@quiet
def test_pairs_name_the_columns_of_a_narrow_matrix(population):
    X = as_matrix(population.comparisons)
    Q = population.comparisons.n_items
    kept = [code for code in range(Q * Q) if code // Q != code % Q][::-1]
    narrow = mm.MixedMallows(3, pairs=[divmod(code, Q) for code in kept], predictor=False).fit(
        X[:, kept]
    )
    np.testing.assert_array_equal(
        narrow.model_.sigma, mm.MixedMallows(3, predictor=False).fit(X).model_.sigma
    )


@pytest.mark.slow
def test_a_width_that_is_no_square_warns_and_says_how_it_was_read():
    X = np.random.default_rng(0).poisson(3.0, (40, 5))
    with pytest.warns(
        DataWarning,
        match=r"5 columns, which is not Q² for any Q: .* first ordered pairs of 3 items\. Give "
        r"pairs,",
    ):
        mm.MixedMallows(2, predictor=False).fit(X)


@pytest.mark.slow
def test_columns_of_an_item_with_itself_are_ignored_with_a_warning():
    X = np.random.default_rng(0).poisson(3.0, (40, 9))
    with pytest.warns(DataWarning, match="compare an item with itself are ignored"):
        mm.MixedMallows(2, predictor=False).fit(X)


@quiet
def test_wrong_pairs_and_empty_matrices_are_named():
    X = np.ones((10, 4))
    with pytest.raises(DataError, match=r"pairs must hold 4 couples \(i, j\)"):
        mm.MixedMallows(2, pairs=[(0, 1)], predictor=False).fit(X)
    with pytest.raises(DataError, match="X has no comparison"):
        mm.MixedMallows(2, predictor=False).fit(np.zeros((10, 4)))


@pytest.mark.slow
@quiet
def test_it_works_in_a_pipeline_and_clones(population):
    X = as_matrix(population.comparisons)
    pipeline = make_pipeline(FunctionTransformer(), mm.MixedMallows(3, predictor=False))
    theta = clone(pipeline).fit_transform(X)
    assert theta.shape == (300, 3)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert list(pipeline.fit(X)[-1].get_feature_names_out()) == [
        "mixedmallows0",
        "mixedmallows1",
        "mixedmallows2",
    ]


@pytest.fixture(scope="module")
def estimator(population):
    return mm.MixedMallows(1, predictor=False).fit(population.comparisons)


FOREIGN = [("u", "a", "b"), ("u", "b", "toast"), ("v", "toast", "a")]


@quiet
@pytest.mark.parametrize("call", ["transform", "predict_proba", "score"])
def test_unknown_items_are_refused_or_left_out_as_the_message_says(estimator, call):
    some = mm.read_comparisons(FOREIGN)
    with pytest.raises(DataError, match=r'unknown: \'toast\'.*unknown_items="drop"'):
        getattr(estimator, call)(some)
    known = mm.read_comparisons([*FOREIGN[:1] * 9, ("u", "c", "d"), ("v", "a", "c")])
    more = mm.read_comparisons([*FOREIGN * 9, ("u", "c", "d"), ("v", "a", "c")])
    dropping = mm.MixedMallows(1, predictor=False, unknown_items="drop").fit(known)
    np.testing.assert_array_equal(getattr(dropping, call)(more), getattr(dropping, call)(known))
    with pytest.raises(mm.errors.OptionError, match="unknown_items is 'ignore'"):
        getattr(dropping.set_params(unknown_items="ignore"), call)(more)


def test_a_path_and_a_table_are_read_and_are_no_matrix(estimator, tmp_path):
    rows = pd.DataFrame([("u", "a", "b"), ("v", "b", "a")], columns=["user", "winner", "loser"])
    rows.to_csv(tmp_path / "votes.csv", index=False)
    expected = estimator.predict_proba(mm.read_comparisons(rows))
    for X in (rows, tmp_path / "votes.csv", str(tmp_path / "votes.csv")):
        np.testing.assert_array_equal(estimator.predict_proba(X), expected)
    with pytest.raises(mm.errors.FileError, match=r"no\.csv"):
        estimator.transform("no.csv")


@pytest.fixture(scope="module")
def of_matrix(population):
    return mm.MixedMallows(1, predictor=False).fit(as_matrix(population.comparisons))


def test_a_matrix_may_be_a_list_of_rows(of_matrix):
    X = np.zeros((2, 64))
    X[0, 1] = X[1, 10] = 3
    np.testing.assert_array_equal(of_matrix.predict_proba(X.tolist()), of_matrix.predict_proba(X))


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(0, 8)], r"\(0, 8\) is not of two items: they are numbered from 0 to 7"),
        ([(-1, 2)], "numbered from 0 to 7"),
        ([("0", "tee")], "tee"),
        ([(0.5, 1)], "0.5"),
        ([(1,)], "Pair 1"),
        ("ab", "a list of two items"),
        (3, "a list of two items"),
    ],
)
def test_wrong_pairs_to_predict_are_said(of_matrix, pairs, said):
    with pytest.raises(DataError, match=said):
        of_matrix.predict_proba(np.ones((1, 64)) - np.eye(8).reshape(1, -1), pairs)
