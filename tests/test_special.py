"""ψ and log Γ against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, psi

from mallowmix.numerics.special import digamma, log_gamma

positive = st.floats(1e-6, 1e8)


@given(positive)
def test_digamma(x):
    assert digamma(x) == pytest.approx(psi(x), rel=1e-10, abs=1e-10)


@given(positive)
def test_log_gamma(x):
    assert log_gamma(x) == pytest.approx(gammaln(x), rel=1e-12, abs=1e-12)


def test_digamma_obeys_its_recurrence_where_the_series_takes_over():
    """ψ(x + 1) = ψ(x) + 1/x on both sides of 6, where the recurrence ends and the series begins."""
    x = np.linspace(4.5, 7.5, 31)
    assert [digamma(v + 1) - digamma(v) for v in x] == pytest.approx(1 / x, rel=1e-9)
