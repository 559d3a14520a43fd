"""Intervals of many people: sums of scores over everybody, places from samples; the same bytes
wherever the rows live.
"""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.assess.intervals import bootstrap_intervals as intervals_module
from mallowmix.assess.intervals import little_bootstraps as little
from mallowmix.assess.intervals.score_sums import sum_scores
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import DataError, OptionError
from mallowmix.learn.spectral.user_scores import maximise_likelihood
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
TRUTH = planted(6, 2, 0.5, 0.3, seed=2)


@pytest.fixture(scope="module")
def votes():
    return TRUTH.sample(4000, 10, seed=2).comparisons


def lower_the_bar(patch):
    """600 people are many, and 300 are a sample."""
    for name, value in {"MOST": 600, "PEOPLE": 300, "LEAST": 100}.items():
        patch.setattr(little, name, value)


@pytest.fixture
def few_are_many(monkeypatch):
    lower_the_bar(monkeypatch)


def stored_in(folder, comparisons):
    """The same comparisons as a folder of Parquet files, rows scattered, and sorted on disk."""
    table = comparisons.to_arrow()
    (folder / "votes").mkdir()
    for i, rows in enumerate(np.array_split(np.random.default_rng(0).permutation(len(table)), 3)):
        pq.write_table(table.take(rows), folder / "votes" / f"part-{i}.parquet")
    return mm.store_comparisons(folder / "votes", folder / "blocks", memory="300MB")


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.draws, other.draws, strict=True))


# ---- φ and shares ----


def summed(votes, replicates=600, **options):
    """η̂ and the replicates' steps from there."""
    blocks, engine = make_blocks(votes), ThreadEngine(2)
    near = maximise_likelihood(TRUTH, make_blocks(votes.take_users(range(400))), engine, steps=1)
    return sum_scores(TRUTH.sigma, near, blocks, replicates, engine, **options)


@pytest.mark.slow
def test_the_sums_are_the_ordinary_bootstrap(votes):
    """Against a bootstrap that keeps everybody's scores and weights.

    η̂ within one standard error: its noise is that of Gibbs sampling, .3 standard errors after 400
    sweeps. Spreads within 16 %:
    four standard errors of a ratio of two spreads from 600 replicates each.
    """
    kept = maximise_likelihood(
        TRUTH, make_blocks(votes), ThreadEngine(2), steps=2, sweeps=400, seed=7
    )
    u = np.random.default_rng(1).standard_exponential((600, votes.n_users))
    expected = np.std(np.linalg.solve(kept.information, ((u - 1) @ kept.scores).T), axis=1)
    newton = kept.eta + np.linalg.solve(kept.information, kept.scores.sum(axis=0))
    smooth, steps = summed(votes, sweeps=400)
    assert np.all(np.abs(smooth.eta - newton) < expected), (smooth.eta - newton) / expected
    assert steps.std(axis=0) == pytest.approx(expected, rel=0.16)
    assert np.all(np.abs(steps.mean(axis=0)) < 4 * expected / np.sqrt(600))


@pytest.mark.slow
def test_half_the_people_widen_by_the_root_of_two(votes):
    """±.25: four standard errors of a ratio from 600 replicates each."""
    whole, half = (
        summed(people)[1].std(axis=0) for people in (votes, votes.take_users(range(0, 4000, 2)))
    )
    assert half / whole == pytest.approx(np.full(4, np.sqrt(2)), abs=0.25)


@pytest.mark.slow
def test_a_share_of_the_people_is_fewer_people(votes):
    """As above; a quarter of the people doubles the spread."""
    whole, quarter = summed(votes)[1].std(axis=0), summed(votes, share=0.25)[1].std(axis=0)
    assert quarter / whole == pytest.approx(np.full(4, 2.0), abs=0.4)


def test_people_of_weight_two_are_two_people_in_the_sums(votes):
    some = votes.take_users(range(400))
    one, two = summed(some, 20), summed(replace(some, user_weight=np.full(400, 2.0)), 20)
    assert np.allclose(one[0].eta, two[0].eta, atol=1e-9) and np.allclose(one[1], two[1], atol=1e-9)
    assert np.allclose(2 * one[0].information, two[0].information)


# ---- samples ----


def test_what_is_large_depends_on_two_numbers():
    class Sizes:
        def __init__(self, n_users, n_comparisons):
            self.n_users, self.n_comparisons = n_users, n_comparisons

    assert not little.is_large(Sizes(3_999, 6e6)) and not little.is_large(Sizes(1000, 1e9))
    assert not little.is_large(Sizes(20_000, 199_999)) and little.is_large(Sizes(5_000, 225_000))
    assert little.is_large(Sizes(20_001, 20_001)) and little.is_large(Sizes(5000, 6.1e6))
    assert little.subset_share(5_000, 250_000) == 0.2  # 50,000 comparisons
    assert little.subset_share(20_000, 6e6) == 0.05  # 1,000 people
    assert little.subset_share(10**6, 10**7) == 0.01  # 10,000 people
    assert little.subset_share(10**6, 10**8) == 0.008  # 800,000 comparisons
    assert little.subset_share(2000, 10**9) == 0.5  # 1,000 people, whatever they hold


def test_samples_hold_whole_people(votes, few_are_many):
    """Every sampled person's rows are those of somebody; sizes are binomial, within five standard
    deviations.
    """
    numbered = replace(votes, user_weight=np.arange(1.0, 4001))  # who they are
    samples = little.draw_subsets(numbered, make_blocks(numbered), ThreadEngine(2), seed=3)
    assert len(samples) == 5 and len({each.fingerprint() for each in samples}) == 5
    for each in samples:
        assert abs(each.n_users - 300) < 5 * np.sqrt(300)
        who = each.user_weight.astype(int) - 1
        twin = votes.take_users(who)
        assert len(set(who)) == len(who)
        for name in ("user", "winner", "loser", "weight"):
            assert np.array_equal(getattr(each, name), getattr(twin, name))


def test_blocks_are_comparisons_again(votes):
    again = little.comparisons_of_blocks(make_blocks(votes), votes.items, votes.users)
    assert again.fingerprint() == votes.fingerprint()


# ---- places ----


@given(
    st.lists(st.permutations(range(5)), min_size=3, max_size=9),
    st.permutations(range(5)),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_moves_are_scaled_and_rounded_outwards(draws, sigma, scale):
    found = little.around(np.array([sigma]), np.array(draws)[:, None], scale)
    for r, draw in enumerate(draws):
        for i, place in enumerate(draw):
            middle = sorted(each[i] for each in draws)[(len(draws) - 1) // 2]
            away = -(-abs(place - middle) * 10 * scale // 10)
            expected = sigma[i] + away if place > middle else sigma[i] - away
            assert found[r, 0, i] == min(max(expected, 0), 4)


@pytest.mark.slow
def test_open_places_stay_open(few_are_many):
    """Places that are hard to tell: no narrower than by the ordinary bootstrap of the same people,
    nor by two places wider.
    """
    truth = planted(12, 1, 0.9, 1.0, seed=4)
    votes = truth.sample(1200, 5, seed=4).comparisons
    widths = []
    for most in (600, 10**6):
        little.MOST = most  # put back by the fixture
        found = mm.intervals(truth, votes, 20, seed=1)
        widths.append((found.position_high - found.position_low).mean())
    assert 0.5 < widths[1] <= widths[0] <= widths[1] + 2, widths


# ---- the whole ----


@pytest.fixture(scope="module")
def large(votes):
    """Intervals of 800 people as of many, and how many people each bootstrap was given."""
    some, kept, plain = votes.take_users(range(800)), [], little.replicate_start

    def spied(model, people, *rest, **options):
        kept.append(people.n_users)
        return plain(model, people, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        lower_the_bar(patch)
        patch.setattr(little, "replicate_start", spied)
        patch.setattr(
            intervals_module, "replicate_start", None
        )  # everybody at once would be an error,
        patch.setattr(intervals_module, "replicate_weights", None)  # and so would (R, M) weights
        return some, mm.intervals(TRUTH, some, 10, seed=1, n_jobs=2), kept


@pytest.mark.slow
def test_intervals_of_many_are_intervals(large):
    _, found, kept = large
    assert len(kept) == 5 and max(kept) < 400  # a binomial of mean 300: six standard deviations
    assert found.draws.sigma.shape == (
        10,
        2,
        6,
    ) and found.draws.phi.shape == found.draws.share.shape == (10, 2)
    assert np.all(found.position_low <= TRUTH.sigma) and np.all(TRUTH.sigma <= found.position_high)
    assert np.allclose(found.draws.share.sum(axis=1), 1)
    # more than four standard errors of 800 people
    assert np.all(np.abs(found.draws.phi.mean(axis=0) - 0.5) < 0.1)
    assert len(found.table()) == 2 * (2 + 6) and "Intervals at 90 %" in found._repr_html_()
    rate, low, high = found.win_rate("i000", "i003")
    assert 0 < low <= high < 1 and abs(rate - (low + high) / 2) < 0.1


@pytest.mark.slow
def test_the_same_bytes_from_memory_disk_and_any_number_of_threads(large, tmp_path, monkeypatch):
    some, found, _ = large
    lower_the_bar(monkeypatch)
    stored = stored_in(tmp_path, some)
    assert same(found, mm.intervals(TRUTH, some, 10, seed=1, n_jobs=3))
    assert same(found, mm.intervals(TRUTH, stored, 10, seed=1, n_jobs=1, engine="disk"))
    with pytest.raises(
        DataError, match="comparisons on disk go with a model of the very same items"
    ):
        mm.intervals(planted(5, 2), stored, 10)
    with pytest.raises(OptionError, match="engine is 'cloud'; it must be one of"):
        mm.intervals(TRUTH, stored, 10, engine="cloud")  # type: ignore[arg-type]


@pytest.mark.slow
def test_few_people_are_bootstrapped_as_ever_wherever_they_are(votes, tmp_path, monkeypatch):
    some = votes.take_users(range(60))
    monkeypatch.setattr(intervals_module, "sum_scores", None)  # not called
    assert same(mm.intervals(TRUTH, some, 10), mm.intervals(TRUTH, stored_in(tmp_path, some), 10))


@pytest.mark.slow
def test_the_command(votes, few_are_many, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored_in(tmp_path, votes.take_users(range(610)))
    mm.save(TRUTH, "model.m4")
    files = [f"votes/part-{i}.parquet" for i in range(3)]
    run("intervals", "model.m4", "votes", "--n-replicates", 10, "-o", "memory.csv", "-q")
    said, _ = run(
        "intervals", "model.m4", *files, "--n-replicates", 10, "-o", "disk.csv", "--memory", "300MB"
    )
    assert (tmp_path / "memory.csv").read_bytes() == (
        tmp_path / "disk.csv"
    ).read_bytes() and "are certain at this level" in said
    assert not list(tmp_path.glob("*.blocks"))
    for words, message in (
        (
            ["--engine", "cloud"],
            "--engine is 'cloud'; it must be one of 'threads', 'disk', 'dask'.",
        ),
        (
            ["--engine", "threads", "--memory", "2GB"],
            "--memory, --cache and several files are for data on disk",
        ),
        (["--memory", "2GB", "--ties", "half"], "--ties needs the comparisons in memory"),
    ):
        assert message in " ".join(run("intervals", "model.m4", "votes", *words, code=2)[1].split())
