"""Pictures: what is drawn is what the result says."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess.asked import ask
from mallowmix.assess.choose_k import Choice, KRow
from mallowmix.assess.reliability import reliability
from mallowmix.plots import plot_choice, plot_intervals, plot_reliability, safe_label
from tests.planted import planted

ROWS = tuple(
    KRow(k, -0.5 + 0.1 * (k == 2), 0.01, -0.1 * (k != 2), 0.02, 0.9 - 0.2 * (k == 3), (0.9,) * k, 1 / k, value, 0.1)
    for k, value in ((1, None), (2, 0.4), (3, 0.05))
)


def test_a_choice_marks_the_chosen_number_in_every_panel(tmp_path):
    figure = plot_choice(Choice(2, "2: because.", True, ROWS))
    assert figure.get_suptitle() == "2: because."
    held_out, stable, spectrum = figure.axes
    for axes, value in ((held_out, -0.4), (stable, 0.9), (spectrum, 0.4)):
        marked = [line for line in axes.lines if line.get_markersize() == 8]
        assert len(marked) == 1 and np.allclose(marked[0].get_xydata(), [[2, value]])
    assert np.allclose(spectrum.lines[0].get_xydata(), [[2, 0.4], [3, 0.05]])
    figure.savefig(tmp_path / "choice.png")
    assert (tmp_path / "choice.png").stat().st_size > 5000


def test_nothing_to_choose_from_can_be_drawn(tmp_path):
    plot_choice(Choice(None, "cannot tell: …", False, ROWS[:1])).savefig(tmp_path / "one.png")
    plot_choice(Choice(None, "cannot tell: …", False, ())).savefig(tmp_path / "none.png")


@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
def test_intervals_and_reliability(tmp_path):
    model = planted(6, 2, 0.4, 0.3)
    votes = model.sample(60, 20, seed=1).comparisons
    found = mm.intervals(model, votes, 10)
    figure = plot_intervals(found, 2)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [str(model.items[i]) for i in model.order[1]]
    assert np.array_equal(axes.lines[0].get_xdata(), np.arange(1, 7))
    judged = reliability(ask(model, votes))
    points = plot_reliability(judged).axes[0].collections[0].get_offsets()
    assert np.allclose(points, [(row.foretold, row.observed) for row in judged.table])
    figure.savefig(tmp_path / "intervals.png")


def test_labels_that_would_be_formulas():
    assert safe_label("5$ or\n7$") == r"5\$ or\n7\$"
