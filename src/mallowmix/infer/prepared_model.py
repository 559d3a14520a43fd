"""A prepared model: β and the prior with the calibration applied, ready to infer users' weights."""

from typing import NamedTuple

import numpy as np

from mallowmix.model import least_beta
from mallowmix.model.calibration import Calibration
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.pair_model import PairModel
from mallowmix.typing import Array


class PreparedModel(NamedTuple):
    """β, prior and calibration of one model.

    Attributes
    ----------
    beta : (Q², K) array
        The probability of each ordered pair, kept away from 0 and 1 (`model.least_beta`); a last
        column of ½ where there is spam.
    alpha : (K,) array
        The Dirichlet part of the prior.
    share : (K,) array
        The probabilities of the vertices.
    likelihood_weight, vertex_share : float
        As in `Calibration`.
    has_spam : bool
        Whether the last component is spam.
    """

    beta: Array
    alpha: Array
    share: Array
    likelihood_weight: float
    vertex_share: float
    has_spam: bool = False

    @property
    def prior_mean(self) -> Array:
        """(K,) the expected weights of a user without comparisons."""
        return (
            self.vertex_share * self.share + (1 - self.vertex_share) * self.alpha / self.alpha.sum()
        )


def prepare(model: ComponentModel) -> PreparedModel:
    """The model with its calibration; its ensemble is left out."""
    return prepare_members(model)[0]


def prepare_members(model: ComponentModel) -> list[PreparedModel]:
    """The model and the members of its ensemble, all with the model's calibration."""
    if not isinstance(model, FittedModel):
        return [prepare_components(model, Calibration())]
    return [prepare_components(member, model.calibration) for member in model.members]


def prepare_components(model: PairModel, calibration: Calibration) -> PreparedModel:
    """Any components, with a calibration applied."""
    least, K = least_beta.INFERENCE, len(model.alpha)
    beta = np.clip(model.beta(), least, 1 - least).reshape(K, -1)
    alpha, share = calibration.prior_scale * model.alpha, model.alpha / model.alpha.sum()
    spam = calibration.spam_share
    if spam > 0:
        beta = np.vstack([beta, np.full(beta.shape[1], 0.5)])
        alpha = np.r_[alpha, alpha.sum() * spam / (1 - spam)]
        share = np.r_[share * (1 - spam), spam]
    rows = np.ascontiguousarray(beta.T)
    weight, vertex = calibration.likelihood_weight, calibration.vertex_share
    return PreparedModel(rows, alpha, share, weight, vertex, spam > 0)
