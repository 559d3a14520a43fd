"""BLAS is held to one thread inside `fit`, whatever it has outside: the order of sums is ours."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mallowmix as mm


def blas_threads() -> set[int]:
    """How many threads each BLAS library of the process would use now."""
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spectral", "projections"])
def test_fit_holds_blas_to_one_thread_and_gives_the_others_back(method):
    model = mm.M4.from_orders([list("abcdef"), list("fedcba")], phi=0.2)
    votes = model.sample(60, 20, seed=1).comparisons
    seen: list[set[int]] = []
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        mm.fit(
            votes,
            2,
            method=method,
            predictor=False,
            progress=lambda *_: seen.append(blas_threads()),
        )
        assert blas_threads() == {2}
    assert seen and set.union(*seen) == {1}
