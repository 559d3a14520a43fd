"""Latent Dirichlet allocation on ordered pairs, by scikit-learn, then Algorithm 4.

A user is a document, a comparison a word.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import check_at_least
from mallowmix.learn.paper.components_from_topics import components_from_topics
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.peers.component_mixture import FittedMixture, of_model


@dataclass(frozen=True)
class LDA:
    """Topics are any distributions over the Q(Q−1) ordered pairs; rankings are derived afterwards.

    Needs comparisons, many of them: nothing ties the pairs of one ranking together. Assumes K
    topics and a symmetric Dirichlet prior of 1/K.

    Parameters
    ----------
    max_iter : int
        Of scikit-learn's variational inference.
    """

    max_iter: int = 30
    name: str = "LDA + Algorithm 4"
    needs: Literal["comparisons", "ratings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        check_at_least("n_components", n_components, 1)
        X = csr_array((data.weight, (data.user, data.pair)), shape=(data.n_users, data.n_items**2))
        lda = LatentDirichletAllocation(
            n_components, max_iter=self.max_iter, random_state=seed % 2**32
        )
        with threadpool_limits(1):
            theta = lda.fit_transform(X)
        sigma, phi, _ = components_from_topics(lda.components_.T, dispersion="ml")
        share = np.average(
            theta, axis=0, weights=data.user_weight if data.user_weight.any() else None
        )
        m4 = M4(sigma, phi, np.maximum(share, 1e-6), data.items)
        return of_model(FittedModel(m4, FitReport(method="lda")))
