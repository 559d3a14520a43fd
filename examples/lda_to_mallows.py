"""Any topic model will do (Lemma 1).

Scikit-learn's LDA on comparisons as words, its topics turned into Mallows components.

python examples/lda_to_mallows.py
"""

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.decomposition import LatentDirichletAllocation

import mallowmix as mm
from mallowmix.model.permutations import match_components


def words(comparisons: mm.Comparisons) -> csr_array:
    """People × Q² counts: person m is a document, "i over j" is the word i·Q + j."""
    shape = (comparisons.n_users, comparisons.n_items**2)
    return coo_array((comparisons.weight, (comparisons.user, comparisons.pair)), shape).tocsr()


def main() -> float:
    random = np.random.default_rng(0)
    planted = mm.M4(
        [random.permutation(12) for _ in range(2)],
        phi=[0.2, 0.4],
        alpha=[0.3, 0.3],
        items=np.arange(12),
    )
    comparisons = planted.sample(n_users=200, per_user=80, seed=1).comparisons

    lda = LatentDirichletAllocation(
        2,
        doc_topic_prior=0.3,
        topic_word_prior=0.01,
        max_iter=10,
        mean_change_tol=0.01,
        random_state=0,
    )
    # (2, Q²) how much each topic puts on each word
    topics = lda.fit(words(comparisons)).components_
    found = mm.components_from_topics(topics.T, dispersion="ml")  # Algorithm 4

    match = match_components(found.sigma, planted.sigma)
    error = float(match.kendall.mean())
    print(
        f"Kendall error {error:.3f} (fraction of pairs in the wrong order, over matched components)"
    )
    print(f"phi found {found.phi[match.found].round(2)}, planted {planted.phi[match.truth]}")
    return error


if __name__ == "__main__":
    main()
