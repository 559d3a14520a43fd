"""Counter-based random numbers: Philox 4x32-10 in numba.

They are keyed by the seed and counted by (token, user, step, draw). The same four counters give the
same number in every order, thread and machine, so results never depend on how the work was split.
(Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011.)
"""

from enum import IntEnum, unique

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import OptionError
from mallowmix.numerics.compiled import compiled

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
SPLITMIX_STEP = np.uint64(0x9E3779B97F4A7C15)  # from one state of `splitmix` to the next


@unique
class Step(IntEnum):
    """Every step that draws random numbers: one number each, so that no two steps share a stream.

    From 200 on: steps that derive seeds of their own (`child_seed`).
    """

    RANKINGS = 1  # rankings drawn by repeated insertion
    WEIGHTS = 10  # weights of a drawn population
    COMPARISONS = 11  # its comparisons
    HALVES = 20  # users' comparisons split in two halves
    PROJECTIONS = 21  # random projections of Algorithm 2
    DISTANCES = 22  # directions that distances are projected on
    ITEM_HALVES = 25  # users' items split in two
    SUBSPACE = 30  # where the subspace iteration begins
    NULL_SIGNS = 31  # signs of the null model of the spectrum
    CORNERS = 33  # random directions for corners
    USER_SAMPLE = 35  # a sample of users
    MEMBERS = 36  # parts of the data for members of an ensemble
    ANCHOR_WORDS = 37  # projection of FastAnchorWords
    GIBBS_SWEEP = 40  # sweeps of Monte-Carlo EM
    MARGINAL_TABLES = 41  # sweeps behind tables of the marginal likelihood
    SPLIT_MERGE = 45  # items moved by split and merge
    COMPLETION = 60  # comparisons held out by completion
    TOKEN_ORDER = 62  # order of a user's tokens in left-to-right
    PARTICLES = 63  # particles of left-to-right
    IMPORTANCE = 64  # draws of importance sampling
    ANNEALING = 65  # particles of annealing
    WEIGHT_DRAWS = 66  # draws of a user's weights
    CALIBRATION = 67  # users who calibrate
    SEPARABILITY = 70  # references whose separability is counted
    SOLID_ANGLES = 71  # directions for solid angles
    VERTEX_PRIOR = 72  # draws behind the prior with two parts
    PRIOR_SWEEP = 73  # sweeps of a prior's chain
    PRIOR_POINTS = 74  # points of a discrete prior
    SIMULATE = 80  # the random model of the command simulate
    PROFILE = 85  # voters drawn from a model
    RECOVERY = 90  # planted references of the recovery table
    FOLDS = 100  # folds of users
    USER_SCORES = 101  # chains behind users' scores
    REPLICATE_WEIGHTS = 102  # bootstrap weights of users
    PERMUTATIONS = 103  # permutation test of groups
    SIMULATED_ERROR = 104  # answers drawn anew from a model
    PHI_BIAS = 105  # error of the simulated bias
    SCORE_SUMS = 106  # bootstrap weights of very many users
    SUBSETS = 107  # samples of the little bootstraps
    SUBSET_WEIGHTS = 108  # bootstrap weights within them
    PMF_START = 110  # PMF: initial coordinates
    PMF_SHUFFLE = 111  # PMF: order of ratings
    BPMF_HYPER = 112  # BPMF: means and precisions
    BPMF_ITEMS = 113  # BPMF: coordinates of items
    BPMF_USERS = 114  # BPMF: coordinates of users
    BIAS = 115  # ratings held out for shrinkage
    VALIDATION = 120  # users who validate a peer's settings
    LOW_RANK = 121  # low-rank: initial coordinates
    SPLIT_ROWS = 122  # comparisons split by compare
    THIN_TRAIN = 123  # comparisons kept to learn from
    THIN_GIVEN = 124  # comparisons kept of those given
    THIN_HELD_OUT = 125  # comparisons kept of those held out
    SOME_USERS = 126  # users kept by compare
    STAR_PROFILES = 130  # folds of star profiles
    TABLE_2 = 131  # ratings held out of training
    FIGURE_4 = 132  # users of Figure 4
    REFERENCES = 133  # random references
    TABLE_1 = 134  # populations of Table 1
    AMP = 140  # AMP draws
    AMP_USERS = 141  # AMP draws for users
    TOP_THREE = 142  # parts of the items
    TENSOR_POWER = 143  # vectors of the power method
    TRIPLES = 144  # triples of comparisons
    GOM_CHOICES = 145  # grade of membership: choices
    GOM_PARAMETERS = 146  # grade of membership: parameters
    PERSONAL_RANKINGS = 152  # chains of users' own rankings, in learning
    RANKING_DRAWS = 153  # and in prediction
    MASKS = 154  # what is hidden of a user to learn the predictor
    MEAN_START = 156  # initial means of utilities
    UTILITY_DRAWS = 157  # draws of a user's utilities
    LEADERBOARD = 158  # draws of the population's utilities
    POSTERIOR_USERS = 160  # users whose comparisons the posterior is drawn from
    POSTERIOR_START = 161  # where a chain of the posterior begins
    POSTERIOR_TOKENS = 162  # its tokens' components
    POSTERIOR_WEIGHTS = 163  # its users' weights
    POSTERIOR_ALPHA = 164  # its Dirichlet parameters
    POSTERIOR_COMPONENTS = 165  # its rankings and dispersions
    POSTERIOR_CROWD = 166  # its crowd's ranking and dispersion
    POSTERIOR_SPLITS = 167  # its users' splits between two components
    PICTURE_USERS = 150  # users shown in a picture
    WEB_PAIRS = 151  # pairs spread evenly among visitors
    MEMBER_FIT = 200  # the fit of a member
    NULL_SPECTRUM = 201  # a draw of the null model
    ALL_USERS_PASS = 202  # a pass over all users of large data
    ALL_USERS_END = 203  # φ and α after it
    CALIBRATION_SPLIT = 204  # a split of users' comparisons
    REPLICATE = 205  # the chains of a replicate
    SCORE_PASS = 206  # a Newton step with users' scores
    MARGINAL_MAXIMUM = 213  # a Newton step at the end of a fit
    MARGINAL_ASCENT = 214  # cycles with the marginal likelihood
    COMPARE_SPLIT = 207  # a split of compare
    COMPARE_FIT = 208  # a system's fit in a split
    PEER_START = 209  # an initialisation of a peer's EM
    FOLD_FIT = 211  # the fit of a fold's users
    CHOICE_USERS = 220  # users by whom numbers of components are compared
    RESTART = 222  # another initialisation of a fit
    RESTART_USERS = 223  # users on whom they are tried
    EARLY_USERS = 224  # users of the first cycles of Monte-Carlo EM
    FIRST_STEPS_USERS = 225  # users by whom initialisations are compared
    CHOICE_FIT = 221  # the fits of that comparison
    CHOICE_SPLITS = 226  # further splits of test users' comparisons in it
    SIMULATION = 210  # a simulation's own streams
    POSTERIOR_CHAIN = 212  # a chain of the posterior


# `philox` and `uniforms` are thin where they are called, and the rounds are compiled once: for
# counters of one type, whatever integers they are called with


@compiled
def _rounds(c0, c1, c2, c3, key):
    x0, x1, x2, x3 = c0 & _LOW, c1 & _LOW, c2 & _LOW, c3 & _LOW
    k0, k1 = key & _LOW, key >> _SHIFT
    for _ in range(10):
        p0, p1 = _M0 * x0, _M1 * x2
        x0, x1, x2, x3 = (p1 >> _SHIFT) ^ x1 ^ k0, p1 & _LOW, (p0 >> _SHIFT) ^ x3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return x0, x1, x2, x3


@compiled(inline="always")
def philox(c0, c1, c2, c3, key):
    """Four random 32-bit words (held in uint64) for four 32-bit counters and a 64-bit key."""
    return _rounds(np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3), np.uint64(key))


@compiled
def _two_uniforms(token, user, step, draw, key):
    x0, x1, x2, x3 = _rounds(token, user, step, draw, key)
    u = ((x0 << np.uint64(21)) ^ (x1 >> np.uint64(11))) * (1.0 / 9007199254740992.0)
    v = ((x2 << np.uint64(21)) ^ (x3 >> np.uint64(11))) * (1.0 / 9007199254740992.0)
    return u, v


@compiled(inline="always")
def uniforms(key, step, user, token, draw):
    """Two independent uniforms on [0, 1), 53 bits each.

    Parameters
    ----------
    key : uint64
        The seed (`as_key`).
    step, user, token, draw : int
        The four counters.
    """
    return _two_uniforms(
        np.uint64(token), np.uint64(user), np.uint64(step), np.uint64(draw), np.uint64(key)
    )


def uniform_pairs(
    key: np.uint64,
    step: int,
    user: NDArray[np.integer],
    token: NDArray[np.integer],
    draw: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`uniforms` for arrays of users and tokens.

    Parameters
    ----------
    key, step, draw
        As there.
    user, token : (n,) arrays of int
        The two other counters.

    Returns
    -------
    tuple of two (n,) arrays
    """
    u, v = np.empty(len(user)), np.empty(len(user))
    counters = (np.asarray(user, np.uint64), np.asarray(token, np.uint64))
    _fill_uniforms(key, np.uint64(step), *counters, np.uint64(draw), u, v)
    return u, v


@compiled
def _fill_uniforms(key, step, user, token, draw, u, v):
    for i in range(len(u)):
        u[i], v[i] = _two_uniforms(token[i], user[i], step, draw, key)


@compiled
def splitmix(state):
    """splitmix64: a new state and a uniform on [0, 1); Philox gives each stream its first state.

    Interpreted, it also takes an array of states.
    """
    state = np.uint64(state) + SPLITMIX_STEP
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return state, (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def log_gamma_draw(state, shape):
    """A new state and the log of a Gamma(shape) draw (Marsaglia and Tsang).

    The draw is made at shape + 1, so that tiny shapes do not underflow.
    """
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        state, u1 = splitmix(state)
        state, u2 = splitmix(state)
        x = np.sqrt(-2.0 * np.log(1.0 - u1)) * np.cos(2.0 * np.pi * u2)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = splitmix(state)
        if np.log(1.0 - u) < 0.5 * x * x + d - d * v + d * np.log(v):
            state, u = splitmix(state)
            return state, np.log(d * v) + np.log(1.0 - u) / shape  # Gamma(a) = Gamma(a + 1) U^(1/a)


@compiled
def draw_log_dirichlet(state, shape, out):
    """A new state; `out` becomes log θ of θ ~ Dirichlet(shape)."""
    for k in range(len(shape)):
        state, out[k] = log_gamma_draw(state, shape[k])
    top, total = -np.inf, 0.0
    for k in range(len(shape)):
        top = max(top, out[k])
    for k in range(len(shape)):
        total += np.exp(out[k] - top)
    scale = top + np.log(total)
    for k in range(len(shape)):
        out[k] -= scale
    return state


def generator(seed: int, step: Step | int, counter: int = 0) -> np.random.Generator:
    """A numpy generator for one named step of one seed.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 − 1.
    step : Step
        What the numbers are for.
    counter : int
        Opens an independent stream within the step.
    """
    # a list of both would pass through float64, where large seeds coincide
    key = np.array([int(as_key(seed)), step], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, counter]))


def as_key(seed: int) -> np.uint64:
    """The seed as a 64-bit key; an OptionError unless it is a whole number from 0 to 2**64 − 1."""
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | np.integer)
        or not 0 <= int(seed) < 2**64
    ):
        raise OptionError(option="seed", value=seed, expected="a whole number from 0 to 2**64 - 1")
    return np.uint64(int(seed))


def child_seed(seed: int, step: Step, number: int = 0) -> int:
    """A seed for the `number`-th part of a step, by counter.

    ``seed + number`` would not do: another run may have been given that seed.

    Parameters
    ----------
    seed : int
        Of the whole run.
    step : Step
        What the numbers are for.
    number : int
        Which part.
    """
    x0, x1, _, _ = philox.interpreted(number, 0, int(step), 1, as_key(seed))
    return (int(x0) << 32) | int(x1)
