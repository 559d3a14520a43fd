"""The systems of the paper's Table 1: the contract, each on data of its own model, and their
formulas against oracles.

Own-model tests have fixed data and seeds, so they do not fail by chance. The false-alarm rate that
each one states is for a new
seed: how often it would fail though the code is right, from the number of seeds that were tried
(all passed unless said).
"""

import dataclasses

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError, FitError
from mallowmix.model.mallows import sample_orders
from mallowmix.model.permutations import sigma_of
from mallowmix.paper.table1.populations import population_of_model
from mallowmix.paper.table1.run import kendall_error
from mallowmix.peers.amp_em import MixtureOfRankings
from mallowmix.peers.grade_of_membership import GradeOfMembership
from mallowmix.peers.interface import FittedPeer, Peer
from mallowmix.peers.mallows_mixture import MixtureOfMallows
from mallowmix.peers.mallows_rankings import MallowsFromRankings
from mallowmix.peers.mnl_tensor import MixtureOfMNL
from mallowmix.peers.mpm import MPM
from mallowmix.peers.plackett_luce import MixtureOfPL
from mallowmix.peers.sparse_choice import SparseChoice
from mallowmix.peers.systems import ON_REQUEST, SYSTEMS
from mallowmix.peers.top_three import TwoMallowsTopThree
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
QUICK_GOM = GradeOfMembership(n_burn=20, n_draws=10, thin=1)
ON_PAIRS = [
    MixtureOfMallows(n_starts=1, n_iter=5, likelihood_weights=(1.0, 0.5)),
    MixtureOfMNL(),
    QUICK_GOM,
    MPM(),
]
ON_ONE_RANKING = [MixtureOfRankings(n_starts=1, n_iter=3), SparseChoice()]
ON_RANKINGS = [
    MallowsFromRankings(n_starts=1, n_iter=5),
    TwoMallowsTopThree(polish=2),
    MixtureOfPL(n_starts=1, n_iter=5),
]
PAIRS = [("i000", "i001"), ("i001", "i000"), ("i002", "i007")]
NAMES = [f"i{i:03d}" for i in range(8)]


@pytest.fixture(scope="module")
def votes():
    return planted(8, 2, 0.3, 0.3).sample(300, 20, seed=1).comparisons


@pytest.fixture(scope="module")
def exact():
    """Full rankings of 60 people: 40 have one, 20 another."""
    sigma = planted(8, 2).sigma
    return Rankings.from_sigma(
        sigma[np.repeat([0, 1], [40, 20])], NAMES, [f"u{m:03d}" for m in range(60)]
    )


@pytest.fixture(scope="module")
def noisy():
    """Full rankings of 2000 people around two references."""
    orders = [sample_orders(order, 0.4, 1000, seed=7) for order in planted(8, 2).order]
    return Rankings.from_sigma(
        sigma_of(np.concatenate(orders)), NAMES, [f"u{m:04d}" for m in range(2000)]
    )


def data_for(peer, votes, exact, noisy):
    return (
        noisy if peer in ON_RANKINGS else exact.comparisons() if peer in ON_ONE_RANKING else votes
    )


# ---- the contract ----

CASES = [*ON_PAIRS, *ON_ONE_RANKING, *ON_RANKINGS]
by_name = pytest.mark.parametrize("peer", CASES, ids=lambda peer: peer.name)


@pytest.mark.slow
@by_name
def test_the_contract(peer, votes, exact, noisy):
    data = data_for(peer, votes, exact, noisy)
    people = planted(8, 2, 0.3, 0.3).sample(5, 15, seed=2).comparisons
    assert isinstance(peer, Peer) and len(type(peer).__doc__) > 100
    assert peer.needs == ("rankings" if data is noisy else "comparisons")
    fitted = peer.fit(data, 2, seed=1)
    assert isinstance(fitted, FittedPeer) and fitted.components.shape == (
        1 if isinstance(peer, MPM) else 2,
        8,
    )
    p = fitted.predict_proba(people, PAIRS)
    assert p.shape == (5, 3) and ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p[:, 0] + p[:, 1], 1)
    assert np.ptp(p, axis=0).max() > 1e-9, "people differ"
    # alone or not
    np.testing.assert_allclose(
        fitted.predict_proba(people.take_users([3]), PAIRS)[0], p[3], rtol=1e-9
    )
    nobody = dataclasses.replace(
        people, **{n: getattr(people, n)[:0] for n in ("user", "winner", "loser", "weight")}
    )
    assert np.ptp(fitted.predict_proba(nobody, PAIRS), axis=0).max() < 1e-12
    with pytest.raises(
        DataError, match=r"Pair 1: there is no item 'tea' in what was learnt; there are 8 others\."
    ):
        fitted.predict_proba(people, [("tea", "i001")])


@pytest.mark.slow
@by_name
def test_rows_in_any_order_give_the_same_bytes(peer, votes, exact, noisy):
    data = data_for(peer, votes, exact, noisy)
    people = votes.take_users([0, 1])
    if isinstance(data, Rankings):
        names, places = data.users.tolist(), data.positions()
        orders = [[NAMES[i] for i in np.argsort(row)] for row in places[::-1]]
        turned = Rankings.from_orders(orders, users=[names[m] for m in data.user[::-1]])
    else:
        table = data.to_arrow().to_pydict()
        turned = mm.Comparisons.from_arrays(
            *(table[name][::-1] for name in ("user", "winner", "loser", "weight"))
        )
    first, again = (
        peer.fit(part, 2, seed=3).predict_proba(people, PAIRS) for part in (data, turned)
    )
    assert first.tobytes() == again.tobytes()


def test_rankings_are_known_people_too(noisy):
    """What is told may be rankings; Plackett–Luce and Mallows then place people by them."""
    for peer in ON_RANKINGS:
        p = peer.fit(noisy, 2).predict_proba(noisy.take_users([0, 1999]), PAIRS)
        assert p.shape == (2, 3)
    fitted = MixtureOfPL(n_starts=1).fit(noisy, 2)
    held = fitted.weights(noisy)
    assert np.mean(held[:1000].argmax(axis=1) == held[1000:].argmax(axis=1)) < 0.05


def test_the_systems_are_there_by_name():
    new = (
        "mixture-mallows",
        "mixture-mallows-amp",
        "mixture-btl-tensor",
        "gom-pl",
        "sparse-choice",
        "mpm",
    )
    assert {*new, "mallows-rankings", "top-three", "mixture-pl"} <= set(SYSTEMS) and set(
        SYSTEMS
    ) >= ON_REQUEST


@pytest.mark.slow
def test_compare_takes_them_in(votes, noisy):
    found = mm.compare(
        votes,
        2,
        systems=[
            "mixture-mallows",
            "mpm",
            "mixture-btl-tensor",
            "mixture-mallows-amp",
            "mixture-pl",
            "coin",
        ],
    )
    rows = {row.system: row for row in found.table}
    assert rows["mixture-mallows"].log_loss < rows["coin"].log_loss
    assert "contradicts themselves" in rows["mixture-mallows-amp"].failed
    assert rows["mixture-pl"].failed == "This system learns from rankings, split by people."
    found = mm.compare(noisy, 2, systems=["mallows-rankings", "mixture-pl", "top-three", "coin"])
    assert found.table[-1].system == "coin" and all(row.failed is None for row in found.table)


# ---- data of the wrong kind ----


@pytest.mark.parametrize(
    ("peer", "said"),
    [
        (
            TwoMallowsTopThree(),
            "learns from rankings, and this is comparisons. Use the EM for mixtures of Mallows",
        ),
        (
            MallowsFromRankings(),
            "learns from rankings, and this is comparisons. Use a mixture of Mallows from "
            "comparisons",
        ),
        (
            MixtureOfPL(),
            "learns from rankings, and this is comparisons. Use a mixture of Bradley–Terry "
            "components",
        ),
        (MixtureOfRankings(), "contradicts themselves: their comparisons go round in a circle"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_comparisons_where_rankings_are_needed(votes, peer, said):
    with pytest.raises(DataError) as raised:
        peer.fit(votes, 2)
    assert said in str(raised.value) and (
        "Use" in str(raised.value) or "mixture-mallows" in str(raised.value)
    )


def test_what_other_data_each_refuses(votes, noisy):
    with pytest.raises(FitError, match=r"finds two components, and 3 are asked for\. Use the EM"):
        TwoMallowsTopThree().fit(noisy, 3)
    with pytest.raises(DataError, match="needs full rankings, every item in a position of its own"):
        TwoMallowsTopThree().fit(Rankings.from_orders([NAMES, NAMES[:3]]), 2)
    with pytest.raises(FitError, match="needs six items at least"):
        TwoMallowsTopThree().fit(Rankings.from_orders([list("abcde")]), 2)
    with pytest.raises(
        DataError, match=r"ranking of user 1 has a tie before its end; .* Break such ties"
    ):
        MixtureOfPL().fit(Rankings.from_orders([[["a", "b"], "c"]]), 1)
    for peer in (MixtureOfMallows(), MPM(), GradeOfMembership()):
        with pytest.raises(DataError, match=r"this is a list"):
            peer.fit([1, 2], 2)
    with pytest.raises(FitError, match="There are 2 people for 3 components"):
        MixtureOfMallows().fit(votes.take_users([0, 1]), 3)


def test_one_component_cannot_be_separated_from_itself():
    orders = sample_orders(np.arange(8), 0.5, 3000, seed=1)
    with pytest.raises(FitError, match="cannot be separated by the first three items"):
        TwoMallowsTopThree().fit(Rankings.from_sigma(sigma_of(orders)), 2)


@pytest.mark.slow
def test_the_tensor_method_takes_a_hundred_items():
    """4,950 pairs, whose table of pairs of pairs is never formed: 4,000 people, 100 comparisons.

    Three seeds: errors of .014 to .016.
    """
    random = np.random.default_rng(0)
    scores = np.stack([random.permutation(np.linspace(3, -3, 100)) for _ in range(2)])
    model = mm.BradleyTerryModel(scores, np.ones(2), [f"i{i:03d}" for i in range(100)])
    drawn = model.sample(4000, 100, prior="vertices", seed=1)
    found = MixtureOfMNL().fit(drawn.comparisons, 2)
    assert kendall_error(found.components, model.sigma) <= 0.03


# ---- own models ----

OWN = [  # system, whose data, how many components
    (MixtureOfRankings(n_starts=2), "Mallows, pairs"),
    (MixtureOfMallows(), "Mallows, pairs"),
    (TwoMallowsTopThree(), "two Mallows"),
    (MallowsFromRankings(n_starts=2), "two Mallows"),
    (MixtureOfMNL(), "BTL"),
    (SparseChoice(), "sparse choice"),
    (MixtureOfPL(n_starts=2), "PL"),
    (MPM(), "MPM"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("peer", "model"), OWN, ids=lambda value: getattr(value, "name", value))
def test_own_model_is_recovered(peer, model):
    """Sizes are those of `reproduce table1 --quick`: 1200 people with 22 pairs of 12 items; 5000
    full rankings of 10; 2000 people
    with 20 pairs of 8; 600 exact rankings of 10; 1000 rankings of 8; 300 people with 30 pairs of
    10. None of 20 other seeds fails
    in any of the eight, so a new seed would fail with a probability below .15 (95 % confidence);
    this seed is fixed.
    """
    drawn = population_of_model(model, "quick", 0)
    data = (
        drawn.train.comparisons()
        if isinstance(drawn.train, Rankings) and peer.needs == "comparisons"
        else drawn.train
    )
    assert kendall_error(peer.fit(data, len(drawn.sigma)).components, drawn.sigma) <= 0.02
