"""MixedMallows keeps scikit-learn's contract and equals the functions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mallowmix as mm
from mallowmix.errors import DataError, DataWarning
from mallowmix.estimator import MixedMallows

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")

EXPECTED_FAILURES = {}


@parametrize_with_checks([MixedMallows()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
