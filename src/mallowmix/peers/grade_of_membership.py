"""Grade of membership Plackett–Luce by MCMC (Gormley and Murphy 2009).

At every choice of a ranking a user follows one of K components:

    θ_m ~ Dirichlet(α),    z_mt ~ θ_m,    P(c is chosen of what is left at t | z = k) = p_kc /
    Σ_left p_k.

On pairs it is mixed-membership BTL. A sweep draws every z given the others of the user, θ
integrated out (Gibbs), then the components by Metropolis–Hastings: with λ_kj ~ Gamma(b, 1) behind
p_k = λ_k / Σ λ_k the conditional is

    log π(λ_k) = Σ_j (n_kj + b − 1) log λ_kj − λ_kj − Σ_t log Σ_left λ_k,

and minorising −log at the present λ (the MM step's surrogate) makes it a product of Gammas, from
which the move is proposed, and accepted or not by its ratio. α, one number for all components,
moves by a random walk on its logarithm, prior Exponential(1).
"""

from dataclasses import dataclass, field
from typing import Any, Literal
from warnings import warn

import numpy as np
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.optional_packages import optional_package
from mallowmix.data.rankings import Rankings
from mallowmix.engine import ThreadEngine
from mallowmix.errors import FitWarning, Option, check_at_least
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.model import least_beta
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.fitted_model import with_scores
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.peers.component_mixture import FittedMixture
from mallowmix.peers.gom_chain import MembershipChain, PosteriorDraws
from mallowmix.peers.gom_relabel import relabelled
from mallowmix.peers.required_data import known_comparisons
from mallowmix.peers.stages import make_stages
from mallowmix.peers.user_groups import group_people, net_wins

_R_HAT = 1.1


@dataclass(frozen=True)
class GradeOfMembership:
    """K Plackett–Luce components, followed in proportions of a user's own, choice by choice.

    Needs rankings (full, partial, top-k) or comparisons; assumes that K components are enough.
    Slow: every sweep goes over every choice.

    Parameters
    ----------
    n_chains, n_burn, n_draws, thin : int
        Chains, each with its own initialisation; sweeps of burn-in; draws kept; sweeps for each.
    shape : float
        b of the Gamma prior behind the components: 1 is flat.
    alpha : float, optional
        Fixed; drawn too unless given.
    max_rounds : int
        How often at most it draws: while R-hat of α is `max_r_hat` or more, all that was drawn
        becomes burn-in and twice as many sweeps follow.
    max_r_hat : float
        See there; it needs arviz.
    """

    n_chains: int = 2
    n_burn: int = 400
    n_draws: int = 200
    thin: int = 3
    shape: float = 1.0
    alpha: float | None = None
    max_rounds: int = 1
    max_r_hat: float = 1.05
    name: str = "grade of membership Plackett–Luce (MCMC)"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(
        self, data: Comparisons | Rankings, n_components: int, *, seed: int = 0
    ) -> "FittedGradeOfMembership":
        """Draw from the posterior, given rankings or comparisons."""
        check_at_least("n_chains", self.n_chains, 1)
        check_at_least("n_components", n_components, 1)
        check_at_least("max_rounds", self.max_rounds, 1)
        blocks, engine = make_stages(data, self.name), ThreadEngine()
        points = net_wins(known_comparisons(data))
        chains = []
        for c in range(self.n_chains):
            groups = group_people(points, n_components, child_seed(seed, Step.PEER_START, c))
            held, about = np.eye(n_components)[groups], {"shape": self.shape, "alpha": self.alpha}
            chain = MembershipChain(
                blocks, engine, held, data.n_items, **about, seed=seed, number=c
            )
            chain.burn(self.n_burn)
            chains.append(chain)
        return _fitted(self._drawn(chains), data, self.name)

    def _drawn(self, chains: list[MembershipChain]) -> list[PosteriorDraws]:
        """The draws, after as many rounds as α needs; each has twice the sweeps of the last."""
        drawn = [chain.draw(self.n_draws, self.thin) for chain in chains]
        for doublings in range(1, self.max_rounds):
            if self.alpha is not None or alpha_r_hat(drawn) < self.max_r_hat:
                break
            drawn = [chain.draw(self.n_draws, self.thin * 2**doublings) for chain in chains]
        return drawn


def alpha_r_hat(drawn: list[PosteriorDraws]) -> float:
    """R-hat of α (arviz: rank-normalised, chains split in two).

    Parameters
    ----------
    drawn : list of PosteriorDraws
        Of each chain, four draws at least.

    Returns
    -------
    float
        Near 1 where the chains agree.
    """
    return float(_arviz().rhat(np.stack([chain.alpha for chain in drawn])))


@dataclass(frozen=True, eq=False)
class FittedGradeOfMembership(FittedMixture):
    """Posterior means, and the chains that they come from.

    `chains` is an xarray Dataset with the dimensions chain, draw, component, item.
    """

    chains: Any = field(default=None)
    acceptance: float = 0.0

    def diagnostics(self) -> dict[str, Any]:
        """R-hat and effective sample sizes (arviz), xarray Datasets over components and items."""
        az = _arviz()
        return {"r_hat": az.rhat(self.chains), "ess": az.ess(self.chains)}

    def worst(self) -> tuple[float, float]:
        """The largest R-hat and the least effective sample size of all parameters."""
        found = self.diagnostics()
        r_hat = max(float(found["r_hat"][name].max()) for name in found["r_hat"].data_vars)
        return r_hat, min(float(found["ess"][name].min()) for name in found["ess"].data_vars)


def _fitted(
    chains: list[PosteriorDraws], data: Comparisons | Rankings, name: str
) -> FittedGradeOfMembership:
    chains = relabelled(chains)
    scores = np.concatenate([chain.scores for chain in chains])  # (draws, K, Q)
    beta = np.mean([expit(s[:, :, None] - s[:, None, :]) for s in scores], axis=0)
    share = np.concatenate([chain.share for chain in chains]).mean(axis=0)
    alpha = (
        np.concatenate([chain.alpha for chain in chains]).mean() * len(share) * share / share.sum()
    )
    mean = scores.mean(axis=0)
    model = with_scores(BradleyTerryModel(mean, alpha, data.items))
    prepared = PreparedModel(
        np.ascontiguousarray(
            np.clip(beta, least_beta.INFERENCE, 1 - least_beta.INFERENCE).reshape(len(beta), -1).T
        ),
        alpha,
        share,
        1.0,
        0.0,
    )
    accepted = float(np.mean([chain.accepted for chain in chains]))
    fitted = FittedGradeOfMembership(
        data.items, (prepared,), model, (), _dataset(chains, data), accepted
    )
    _warn_if_not_converged(fitted, name)
    return fitted


def _warn_if_not_converged(fitted: FittedGradeOfMembership, name: str) -> None:
    if fitted.chains is None or fitted.chains.sizes["draw"] < 4:
        return
    r_hat, ess = fitted.worst()
    if r_hat > _R_HAT:
        warn(
            FitWarning(
                f"{name}: R-hat is {r_hat:.2f} and the least effective sample size {ess:.0f}, "
                "so the chains have not converged. Raise ",
                Option("n_burn"),
                " and ",
                Option("n_draws"),
                ", or lower ",
                Option("n_components"),
                ".",
            ),
            stacklevel=4,
        )


def _dataset(chains: list[PosteriorDraws], data: Comparisons | Rankings) -> Any:
    """All draws as xarray."""
    xr = optional_package("xarray", "A table of chains")
    dims = {
        "scores": ("chain", "draw", "component", "item"),
        "share": ("chain", "draw", "component"),
        "alpha": ("chain", "draw"),
        "log_likelihood": ("chain", "draw"),
    }
    values = {
        name: (dims[name], np.stack([getattr(chain, name) for chain in chains])) for name in dims
    }
    K = chains[0].scores.shape[1]
    return xr.Dataset(values, {"item": text_of(data.items), "component": np.arange(K)})


def _arviz() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its announcement of a new version
        return optional_package("arviz", "Checking the chains (R-hat, effective sample sizes)")
