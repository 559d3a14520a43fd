"""Draw the figures of the site into docs/figures/made: `make docs` does it first.

Figures of the method are drawn here, from the built-in data, from simulations, and from result
files; those of the tutorials by the blocks of their pages, which are run for it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import make_picture
import matplotlib
import numpy as np
from matplotlib.figure import Figure

import mallowmix as mm
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.number_of_components import count_components
from mallowmix.learn.spectral.signed_moment import count_pairs
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.model.mallows import gap_probabilities
from mallowmix.plots.plot_style import ACCENT, INK, LIGHT, colour
from mallowmix.plots.simplex_layout import corners, simplex_points
from tools.page_blocks import SHELL, blocks, commands, run_command, run_python

DOCS = Path(__file__).resolve().parent
MADE = DOCS / "figures" / "made"
RESULTS = DOCS.parent / "benchmarks" / "results"
DPI = 130

# pages whose blocks write figures
TUTORIALS = {
    "tutorials/arena.md": ("arena-positions.png",),
    "tutorials/films.md": ("films-tastes.png", "films-people.png"),
}


def panels(n: int, width: float, height: float, **more):
    """A figure with panels side by side, without lines on the top and the right."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, n, **more))
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(labelsize=8)
    return figure, axes


def draw_words() -> Figure:
    """People's comparisons are a mixture of components, as documents are of topics."""
    orders = [["tea", "milk", "water", "cola"], ["cola", "water", "milk", "tea"]]
    orders.append(["water", "tea", "cola", "milk"])
    model = mm.M4.from_orders(orders, phi=0.25, alpha=0.3)
    drawn = model.sample(24, 120, seed=3)
    B = model.ranking_matrix()  # (Q², K)
    used = np.flatnonzero(B.sum(axis=1))
    who = np.lexsort((drawn.theta.max(axis=1), drawn.theta.argmax(axis=1)))
    X = np.zeros((len(B), 24))
    np.add.at(X, (drawn.comparisons.pair, drawn.comparisons.user), drawn.comparisons.weight)
    names = [f"{model.items[p // 4]} > {model.items[p % 4]}" for p in used]
    parts = (X[used][:, who] / 120, B[used], drawn.theta[who].T)
    titles = (
        "24 people: how often\nthey said each word",
        "3 components:\nB",
        "24 people: their weights θ",
    )
    figure, axes = panels(3, 9.6, 3.8, width_ratios=(1.9, 0.6, 1.9))
    for ax, part, title in zip(axes, parts, titles, strict=True):
        ax.imshow(part, aspect="auto", cmap="Blues", vmin=0)
        ax.set_title(title, fontsize=10, color=INK)
        ax.set(xticks=[], yticks=[])
    axes[0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0].set_xlabel("people", fontsize=9)
    axes[1].set_xticks(range(3), ["1", "2", "3"])
    axes[2].set_yticks(range(3), ["1", "2", "3"])
    axes[2].set_xlabel("people", fontsize=9)
    for ax, sign in ((axes[1], "≈"), (axes[2], "×")):
        ax.text(-0.16, 0.5, sign, transform=ax.transAxes, fontsize=18, ha="right", va="center")
    return figure


def draw_noise() -> Figure:
    """How often the better of two items wins, by how far they are apart."""
    figure, (ax,) = panels(1, 5.6, 3.2)
    gaps = np.arange(1, 11)
    for phi, tone in zip((0.0, 0.25, 0.5, 0.75, 0.95), np.linspace(1, 0.35, 5), strict=True):
        wins = gap_probabilities(11, phi)[0][1:]
        ax.plot(gaps, wins, "o-", ms=3.5, color=colour(1), alpha=tone, label=f"φ = {phi:g}")
    ax.set(xlim=(0.6, 10.4), ylim=(0.48, 1.03), xticks=gaps)
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ax.set_xlabel("how many positions apart they are in the reference ranking", fontsize=9)
    ax.set_ylabel("the better one wins", fontsize=9)
    return figure


def pair_points(model: mm.M4) -> np.ndarray:
    """Every ordered pair as a point: how its wins are shared out among the components."""
    beta = model.beta()
    rows = beta[:, ~np.eye(model.n_items, dtype=bool)].T  # (Q(Q − 1), K)
    return rows / rows.sum(axis=1, keepdims=True)


def draw_separability() -> Figure:
    """Pairs in the triangle of three components: with and without pairs at every corner."""
    cyclic = [list("abcdefghi"), list("defghiabc"), list("ghiabcdef")]
    between = [list("abcdefghi"), list("ihgfedcba"), list("abcdihgfe")]
    figure, axes = panels(2, 8.4, 4.0)
    models = [mm.M4.from_orders(orders, phi=0.2) for orders in (cyclic, between)]
    titles = ("separable: a pair at every corner", "component 3 has no pair of its own")
    for ax, model, title in zip(axes, models, titles, strict=True):
        shares = pair_points(model)
        ax.fill(*corners(3).T, facecolor="#f4f6f8", edgecolor=LIGHT, linewidth=0.8)
        ax.scatter(*simplex_points(shares).T, s=14, color=LIGHT, alpha=0.8, linewidths=0)
        best = shares.argmax(axis=0)
        for k, (x, y) in enumerate(simplex_points(shares[best])):
            ax.scatter(x, y, s=70, color=colour(k + 1), zorder=3)
        for k, (x, y) in enumerate(corners(3)):
            ax.text(1.13 * x, 1.13 * y, str(k + 1), ha="center", va="center", fontsize=10)
        ax.set_aspect("equal")
        ax.set_title(title, fontsize=10, color=INK, pad=14)
        ax.axis("off")
    return figure


def spectrum(votes: mm.Comparisons):
    """The eigenvalues of the signed pair moment, in units of the noise edge."""
    engine, parts = ThreadEngine(n_jobs=1), make_blocks(votes)
    pairs = pair_statistics(count_pairs(parts, engine), votes.n_items)
    found = count_components(parts, pairs, engine, most=8)
    return found.values[:8] / found.edge


def draw_spectrum() -> Figure:
    """Eigenvalues above the noise: three components, one, and three with too few people."""
    dishes = mm.load_dishes().comparisons
    one = mm.M4.from_orders([list("abcdefghijklmnop")], phi=0.25).sample(600, 40, seed=1)
    cases = {
        "3 components, 600 people": dishes,
        "1 component, 600 people": one.comparisons,
        "3 components, 12 people": dishes.take_users(range(12)),
    }
    figure, axes = panels(3, 9.2, 3.0, sharey=True)
    for ax, (title, votes) in zip(axes, cases.items(), strict=True):
        values = spectrum(votes)
        tones = [ACCENT if value > 1 else LIGHT for value in values]
        ax.bar(np.arange(1, len(values) + 1), values, color=tones, width=0.7)
        ax.axhline(1, color=INK, lw=1, ls="--")
        ax.set_title(title, fontsize=10, color=INK)
        ax.set_xlabel("eigenvalue", fontsize=9)
        ax.set_yscale("log")
    axes[0].set_ylabel("times the edge of the noise", fontsize=9)
    return figure


def draw_failures() -> Figure:
    """The error in hard cases, and whether `fit` said that something is wrong."""
    found = json.loads((RESULTS / "hard_cases.json").read_text(encoding="utf-8"))
    rows = found["rows"] if isinstance(found, dict) else found  # once a bare list, without a record
    rows = sorted(rows, key=lambda row: row["error"])
    figure, (ax,) = panels(1, 7.6, 5.2)
    errors = np.array([max(row["error"], 1e-4) for row in rows])
    tones = [ACCENT if row["warnings"] else colour(1) for row in rows]
    ax.barh(range(len(rows)), errors, left=0, color=tones, height=0.7)
    ax.set_yticks(range(len(rows)), [row["case"] for row in rows], fontsize=8)
    ax.axvline(0.5, color=INK, lw=1, ls="--")
    ax.text(0.48, 0, "a guess", ha="right", fontsize=8, color=INK)
    ax.set_xscale("log")
    ax.set_xlabel("pairs of items in the wrong order (red: fit warned)", fontsize=9)
    return figure


def draw_posterior() -> Figure:
    """What 40 and 400 people leave open: draws of both dispersions, and of a share."""
    truth = mm.random_model(7, 2, phi=[0.3, 0.6], alpha=[0.6, 0.4], seed=4)
    figure, axes = panels(2, 8.6, 3.2)
    for n_users, alpha in ((40, 0.4), (400, 0.9)):
        votes = truth.sample(n_users, 20, seed=5).comparisons
        draws = mm.sample_posterior(
            votes, 2, n_chains=2, n_warmup=150, n_draws=150, thin=2, seed=0
        ).to_xarray()
        phi = draws["phi"].values.reshape(-1, 2)
        weight = draws["alpha"].values.reshape(-1, 2)
        sharper = phi.argmin(axis=1)[:, None]  # the component of smaller φ in each draw
        share = np.take_along_axis(weight, sharper, axis=1)[:, 0] / weight.sum(axis=1)
        style = {"bins": 30, "range": (0, 1), "density": True, "alpha": alpha}
        label = f"{n_users} people"
        for k, values in enumerate(np.sort(phi, axis=1).T):
            axes[0].hist(values, color=colour(k + 1), label=None if k else label, **style)
        axes[1].hist(share, color=colour(1), label=label, **style)
    for value in truth.phi:
        axes[0].axvline(value, color=INK, lw=1, ls="--")
    axes[1].axvline(truth.share[truth.phi.argmin()], color=INK, lw=1, ls="--")
    axes[0].set(xlabel="dispersion φ of the two components", yticks=[])
    axes[1].set(xlabel="share of the component with the smaller φ", yticks=[])
    for ax in axes:
        ax.legend(fontsize=8, frameon=False)
    return figure


DRAWN: dict[str, Callable[[], Figure]] = {
    "words.png": draw_words,
    "noise.png": draw_noise,
    "separability.png": draw_separability,
    "spectrum.png": draw_spectrum,
    "failures.png": draw_failures,
    "posterior.png": draw_posterior,
}


def made_names() -> set[str]:
    """All figures that this makes."""
    return {"dishes.png", *DRAWN, *(name for names in TUTORIALS.values() for name in names)}


def run_page(page: Path, names: tuple[str, ...]) -> None:
    """Run a page's blocks in an empty folder, and keep its figures."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(page.read_text(encoding="utf-8")):
                if block.language == "python":
                    run_python(block, page, namespace)
                for command in commands(block.text) if block.language in SHELL else []:
                    run_command(command.text, Path(folder)).check_returncode()
            for name in names:
                shutil.copy(name, MADE / name)
        finally:
            os.chdir(before)


def main() -> None:
    """Make every figure."""
    matplotlib.use("Agg")
    MADE.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        draw().savefig(MADE / name, dpi=DPI, metadata={"Software": None})
    make_picture.main(MADE / "dishes.png")
    for page, names in TUTORIALS.items():
        run_page(DOCS / page, names)


if __name__ == "__main__":
    main()
