"""Pictures: what is drawn is what the result says."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_hex

import mallowmix as mm
from mallowmix.assess.contrasts import distances
from mallowmix.assess.diagnose.disagreement import Disagreement, polarising
from mallowmix.assess.diagnose.reliability import reliability
from mallowmix.errors import DataError, OptionError
from mallowmix.fitting.choose_k import Choice, KRow
from mallowmix.infer.heldout.held_out_rows import predict_held_out
from mallowmix.plots import plot_choice, plot_intervals, plot_reliability, safe_label
from mallowmix.plots.plot_style import colour
from mallowmix.plots.simplex_layout import corners, simplex_points, some_people
from tests.command_line import run
from tests.planted import planted

ROWS = tuple(
    KRow(
        k,
        -0.5 + 0.1 * (k == 2),
        0.01,
        -0.1 * (k != 2),
        0.02,
        0.9 - 0.2 * (k == 3),
        (0.9,) * k,
        1 / k,
        value,
        0.1,
    )
    for k, value in ((1, None), (2, 0.4), (3, 0.05))
)


@pytest.mark.slow
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


@pytest.mark.slow
def test_nothing_to_choose_from_can_be_drawn(tmp_path):
    plot_choice(Choice(None, "cannot tell: …", False, ROWS[:1])).savefig(tmp_path / "one.png")
    plot_choice(Choice(None, "cannot tell: …", False, ())).savefig(tmp_path / "none.png")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
def test_intervals_and_reliability(tmp_path):
    model = planted(6, 2, 0.4, 0.3)
    votes = model.sample(60, 20, seed=1).comparisons
    found = mm.intervals(model, votes, 10)
    figure = plot_intervals(found, 2)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        str(model.items[i]) for i in model.order[1]
    ]
    assert np.array_equal(axes.lines[0].get_xdata(), np.arange(1, 7))
    judged = reliability(predict_held_out(model, votes))
    points = plot_reliability(judged).axes[0].collections[0].get_offsets()
    assert np.allclose(points, [(row.predicted, row.observed) for row in judged.table])
    figure.savefig(tmp_path / "intervals.png")


def test_labels_that_would_be_formulas():
    assert safe_label("5$ or\n7$") == r"5\$ or\n7\$"


# ---- a model alone ----


def test_rankings_side_by_side_are_the_models():
    model = planted(12, 3, 0.3, [0.1, 0.3, 0.2])
    axes = mm.plots.plot_components(model, 5).axes[0]
    items = [text for text in axes.texts if text.get_text().startswith("i0")]
    by_share = [1, 2, 0]
    drawn = {text.get_position(): text.get_text() for text in items}
    assert drawn == {
        (x, position): str(model.items[model.order[k, position]])
        for x, k in enumerate(by_share)
        for position in range(5)
    }
    assert [text.get_text() for text in axes.texts if "Component" in text.get_text()] == [
        "Component 2\n50 %",
        "Component 3\n33 %",
        "Component 1\n17 %",
    ]


def test_places_of_the_most_polarising_items():
    model = planted(9, 3, 0.3, 0.3)
    axes = mm.plots.plot_positions(model, 4).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [row.item for row in polarising(model, 4)[1]]
    number = [str(item) for item in model.items].index
    for k, line in enumerate(axes.lines):
        assert line.get_xdata().tolist() == [
            model.sigma[k, number(name)] + 1 for name in names
        ] and line.get_color() == colour(k + 1)


def test_pairs_show_how_often_each_taste_prefers_the_first():
    model = planted(7, 2, 0.5, 0.3)
    pairs = polarising(model, 3)[0]
    axes = mm.plots.plot_pairs(model, 3).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        f"{pair.item} over {pair.other}" for pair in pairs
    ]
    drawn = [line.get_xydata()[0] for line in axes.lines]
    assert np.allclose(
        [x for x, _ in drawn],
        [model.probability(np.eye(2)[k], p.item, p.other) for p in pairs for k in range(2)],
    )
    assert [round(y) for _, y in drawn] == [0, 0, 1, 1, 2, 2]


def test_distances_are_drawn_as_they_are():
    model = planted(6, 3)
    assert np.allclose(
        mm.plots.plot_distances(model).axes[0].images[0].get_array(), distances(model)
    )


# ---- people ----


def test_corners_and_points_of_the_simplex():
    assert np.allclose(corners(4), [[0, 1], [-1, 0], [0, -1], [1, 0]])
    assert np.allclose(simplex_points(np.eye(5)), corners(5))
    assert np.allclose(simplex_points([[0.25] * 4, [0.5, 0.5, 0, 0]]), [[0, 0], [-0.5, 0.5]])


def test_of_many_people_some_are_drawn_the_same_each_time():
    assert some_people(10).tolist() == list(range(10))
    some = some_people(5000, 3)
    assert (
        len(np.unique(some)) == 2000
        and some.max() < 5000
        and np.array_equal(some, some_people(5000, 3))
    )
    assert not np.array_equal(some, some_people(5000, 4))


def test_mixtures_are_drawn_where_people_stand():
    theta = np.random.default_rng(0).dirichlet([0.5] * 3, 50)
    dots = mm.plots.plot_mixtures(theta).axes[0].collections[0]
    assert np.allclose(dots.get_offsets(), theta @ corners(3))
    assert [to_hex(paint) for paint in dots.get_facecolors()] == [
        colour(k + 1) for k in theta.argmax(axis=1)
    ]
    bars = (
        mm.plots.plot_mixtures(theta[:, :2] / theta[:, :2].sum(axis=1, keepdims=True))
        .axes[0]
        .patches
    )
    assert sum(bar.get_height() for bar in bars) == 50
    assert [to_hex(bars[n].get_facecolor()) for n in (0, 9, 10, 19)] == [
        colour(2),
        colour(2),
        colour(1),
        colour(1),
    ]
    with pytest.raises(DataError, match="two components or more"):
        mm.plots.plot_mixtures(np.ones((3, 1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
def test_a_component_that_is_not_there_is_refused():
    model = planted(6, 2, 0.4, 0.3)
    found = mm.intervals(model, model.sample(30, 20, seed=1).comparisons, 10)
    for component in (0, 3):
        with pytest.raises(OptionError, match=f"component is {component}; it must be at"):
            plot_intervals(found, component)


def test_the_largest_share_and_disagreement():
    theta = [[0.92, 0.08], [0.52, 0.48], [0.03, 0.97]]
    heights = {
        round(bar.get_x(), 2): bar.get_height()
        for bar in mm.plots.plot_largest_share(theta, [1, 2, 4]).axes[0].patches
    }
    assert {x: height for x, height in heights.items() if height} == {0.9: 1, 0.5: 2, 0.95: 4}
    widths = [
        bar.get_width()
        for bar in mm.plots.plot_disagreement(Disagreement(0.2, 0.5, 0.2, 0.3)).axes[0].patches
    ]
    assert widths == [0.3, 0.2, 0.5]


# ---- the command line ----


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    dishes = mm.load_dishes(n_users=40, per_user=15)
    mm.save(dishes.model, folder / "model.m4")
    pq.write_table(dishes.comparisons.to_arrow(), folder / "votes.parquet")
    return folder


BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["components", "positions", "pairs", "distances"])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_pictures_of_a_model(files, kind, ending):
    out, _ = run("plot", kind, files / "model.m4", "-o", files / f"{kind}.{ending}")
    assert (files / f"{kind}.{ending}").read_bytes().startswith(BEGINS[ending]) and "Wrote" in out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
@pytest.mark.parametrize("kind", ["mixtures", "largest-share", "disagreement", "reliability"])
def test_pictures_of_people(files, kind):
    run(
        "plot", kind, files / "model.m4", files / "votes.parquet", "-o", files / f"{kind}.pdf", "-q"
    )
    assert (files / f"{kind}.pdf").read_bytes().startswith(BEGINS["pdf"])


def test_what_cannot_be_drawn_is_said(files):
    assert "needs the comparisons too" in run("plot", "mixtures", files / "model.m4", code=2)[1]
    assert (
        "There is no picture 'pie': choose one of components"
        in run("plot", "pie", files / "model.m4", code=2)[1]
    )
    assert (
        "does not tell how to draw it"
        in run("plot", "components", files / "model.m4", "-o", files / "a.gif", code=2)[1]
    )
    words = (
        "plot",
        "intervals",
        files / "model.m4",
        files / "votes.parquet",
        "-o",
        files / "i.png",
        "--component",
        9,
    )
    assert (
        "--component is 9; it must be at most 3, the number of components" in run(*words, code=2)[1]
    )


def test_components_are_called_by_their_names():
    model = mm.FittedModel(mm.load_dishes().model).named({2: "spicy"})
    shown = [text.get_text() for text in mm.plots.plot_components(model).axes[0].texts]
    titles = [text for text in shown if text.startswith("Component")]
    share = model.share[1]
    assert len(titles) == 3 and f"Component 2\nspicy, {100 * share:.0f} %" in titles
