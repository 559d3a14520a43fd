"""Draw docs/figures/dishes.png, the README's picture.

The three components of the built-in population and how its people mix them.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import mallowmix as mm

COLOURS = ["#b3541e", "#a8123e", "#2f7d4f"]
HERE = Path(__file__).parent


def draw_components(ax, model, names):
    """Each component a column, best dish on top; a dish's line shows where they part."""
    Q = model.n_items
    for i, label in enumerate(model.items):
        positions = model.sigma[:, i]
        split = np.ptp(positions) / (Q - 1)
        ax.plot(
            range(3),
            positions,
            color="#333333",
            alpha=0.12 + 0.6 * split**2,
            linewidth=0.8 + 2 * split,
            zorder=1,
        )
        for k in range(3):
            ax.text(
                k,
                positions[k],
                label,
                ha="center",
                va="center",
                fontsize=7.5,
                color=COLOURS[k],
                bbox={"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": "none"},
                zorder=2,
            )
    for k, name in enumerate(names):
        ax.text(
            k,
            -1.3,
            f"{name}\n{model.share[k]:.0%} of all choices, φ = {model.phi[k]:.2f}",
            ha="center",
            fontsize=9,
            color=COLOURS[k],
        )
    ax.set(xlim=(-0.5, 2.5), ylim=(Q - 0.5, -2.6))
    ax.axis("off")


def draw_people(ax, theta, names):
    """Every user as a point in the triangle of the three components."""
    corners = np.array([[0.0, 0.0], [0.5, np.sqrt(0.75)], [1.0, 0.0]])
    ax.fill(*corners.T, facecolor="#f6f4f0", edgecolor="#999999", linewidth=0.8, zorder=0)
    ax.scatter(
        *(theta @ corners).T,
        s=9,
        color=np.clip(theta @ matplotlib.colors.to_rgba_array(COLOURS)[:, :3], 0, 1),
        alpha=0.75,
        linewidths=0,
    )
    for k, (x, y) in enumerate(corners):
        below = y == 0
        ax.text(
            x,
            y - 0.07 if below else y + 0.04,
            names[k],
            ha="center",
            va="top" if below else "bottom",
            fontsize=9,
            color=COLOURS[k],
        )
    ax.set(xlim=(-0.15, 1.15), ylim=(-0.2, 1.0), aspect="equal")
    ax.set_title("600 people, each a mixture", fontsize=9, color="#333333", y=0.0)
    ax.axis("off")


def main(path=HERE / "figures" / "dishes.png"):
    dishes = mm.load_dishes()
    model = mm.fit(dishes.comparisons, 3)
    names = [
        dishes.tastes[np.argmin([np.abs(row - truth).sum() for truth in dishes.model.sigma])]
        for row in model.sigma
    ]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 5.2), width_ratios=(1.75, 1), layout="constrained"
    )
    draw_components(left, model, names)
    draw_people(right, mm.weights(model, dishes.comparisons), names)
    figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
