"""The page of a report: what comes first, names, what was given and left out, marks and labels."""

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.checks.unsure_components import Doubt, UnsureComponent
from mallowmix.data.short_labels import short_labels
from mallowmix.plots.simplex_layout import corners
from mallowmix.report import figures, given_data, make_report, mixture_figures, prediction_text
from mallowmix.report import page_parts as parts
from mallowmix.report import report_text as words
from mallowmix.report.data_limits import said_plainly
from mallowmix.report.lanes import lanes
from mallowmix.report.leaderboard_rows import leaderboard_rows
from tests.command_line import run
from tests.planted import planted
from tests.test_report import QUICK, Text, figures_of

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def test_labels_are_never_cut_to_the_same_text():
    names = [f"A rather long name of a thing, number {n}" for n in range(50)]
    names += [f"x{n} at the begin, and the same end of all of them" for n in range(50)]
    names += ["in the middle " + "a" * 30 + f"{n}" + "b" * 30 for n in range(5)]
    cut = short_labels(names, 20)
    assert len(set(cut)) == len(names)
    assert Counter(len(label) <= 20 for label in cut)[True] == 100  # five need more to differ
    assert short_labels(["tea", "y" * 40], 10) == ["tea", "yyyyyyyyy…"]


def test_marks_in_a_lane_leave_each_other_room():
    at = np.random.default_rng(1).uniform(0, 100, 200)
    found = np.array(lanes(at.tolist(), 4.0))
    assert all(np.diff(np.sort(at[found == lane])).min(initial=9) >= 4 for lane in set(found))
    most = max(np.count_nonzero((at >= x) & (at < x + 4)) for x in at)
    assert found.max() + 1 == most  # no fewer lanes would do


@pytest.mark.parametrize(("Q", "K"), [(16, 3), (30, 10), (200, 4), (6, 10)])
def test_no_mark_hides_another_and_the_figure_fits_a_page(Q, K):
    drawn = figures.positions(planted(Q, K, 0.3, 0.3), list(range(K)))
    assert drawn["layout"]["height"] <= 900
    marks = [
        (x, y) for each in drawn["data"][1:] for x, y in zip(each["x"], each["y"], strict=True)
    ]
    near = 17 / 300 * Q
    for n, (x, y) in enumerate(marks):
        assert all(abs(x - a) >= near or abs(y - b) > 0.999 for a, b in marks[:n])
    assert {each["text"] for each in drawn["data"][1:]} == {str(k + 1) for k in range(K)}


def test_columns_are_as_many_as_components_and_leave_none_alone():
    assert [parts.card_columns(K) for K in (1, 2, 3, 4, 5, 6, 9, 10)] == [1, 2, 3, 2, 3, 3, 3, 2]


@pytest.fixture(scope="module")
def alike():
    """One ranking, of which a fit is asked for two."""
    votes = planted(6, 1, 0.4, 1.0).sample(60, 12, seed=1).comparisons
    model = mm.fit(votes, 2, predictor=False, seed=0)
    return make_report(model, votes, **(QUICK | {"refit": True}))


@pytest.mark.slow
def test_where_one_ranking_is_enough_the_headline_says_so_and_the_leaderboard_leads(alike):
    found, html = alike.contents, alike.html()
    assert not found.better and found.no_gain
    said = "One ranking for everybody predicts people as well as 2 tastes"
    assert words.headline(found) == said and said in Text(html).said[""]
    assert html.index('id="leaderboard"') < html.index('id="tastes"')
    assert words.in_short(found)[0].startswith("Be careful: these tastes predict no better")
    assert "People who put" not in Text(html).of("tastes")
    assert "most unlike the others" in Text(html).of("tastes")
    assert "of the people follow one taste" not in " ".join(words.in_short(found))


@pytest.fixture(scope="module")
def dishes():
    dishes = mm.load_dishes(n_users=60, per_user=20)
    model = mm.fit(dishes.comparisons, 3, predictor=False, seed=0)
    named = model.named({1: "comfort", 2: "fresh", 3: "spicy"})
    return make_report(named, dishes.comparisons, **QUICK)


@pytest.mark.slow
def test_where_tastes_predict_better_they_lead_and_have_their_names_in_sentences(dishes):
    found, html = dishes.contents, dishes.html()
    text = Text(html)
    assert found.better and html.index('id="tastes"') < html.index('id="leaderboard"')
    assert words.headline(found).endswith(", and everybody mixes them in their own way")
    first = found.model.table()[0]
    name = {1: "comfort", 2: "fresh", 3: "spicy"}[first["component"]]
    assert f"taste {first['component']} ({name}), is behind" in text.of("short")
    assert "mostly taste 1 (comfort)" in text.of("people")
    drawn = figures_of(html)
    corners = [drawn["people"]["layout"]["ternary"][f"{x}axis"]["title"]["text"] for x in "abc"]
    assert all(any(name in corner for corner in corners) for name in ("comfort", "fresh", "spicy"))
    assert {each.get("name") for each in drawn["places"]["data"][1:]} == {
        "Taste 1: comfort",
        "Taste 2: fresh",
        "Taste 3: spicy",
    }


@pytest.mark.parametrize(
    "unsure, headline, hint",
    [
        ((), "3 tastes, and everybody mixes them in their own way", ""),
        (
            (2,),
            "3 tastes (2 of them sure), and everybody mixes them in their own way",
            "Taste 2 (fresh) is unsure: read what this part says of it as a hint, not as a fact.",
        ),
        (
            (1, 2, 3),
            "3 tastes predict people better than one ranking, but none of them is sure",
            "Taste 1 (comfort), taste 2 (fresh) and taste 3 (spicy) are unsure: read what",
        ),
    ],
)
def test_the_headline_and_each_part_about_differences_say_which_tastes_are_unsure(
    dishes, unsure, headline, hint
):
    found = dishes.contents
    doubts = tuple(UnsureComponent(k, Doubt.OPTIMA, 0.1) for k in unsure)
    contents = replace(found, diagnosis=replace(found.diagnosis, unsure=doubts))
    text = Text(replace(dishes, contents=contents).html())
    assert words.headline(contents) == headline and headline in text.said[""]
    for part in ("apart", "people"):
        assert hint in text.of(part) and bool(hint) == ("as a hint" in text.of(part))
    noise = [said for said in words.in_short(contents) if "is noise" in said]
    assert len(noise) == (len(unsure) < 3)


def test_a_position_is_drawn_beside_the_crowds(dishes):
    found = dishes.contents
    overall = {str(item): n + 1 for n, item in enumerate(found.leaderboard.items.tolist())}
    for card in parts.components(found):
        for line in card["first"] + card["rest"]:
            assert line["overall"] == overall[line["name"]]
            step = abs(line["place"] - line["overall"]) * 100 / 15
            assert line["way"] == pytest.approx(step, abs=0.01)


def test_the_leaderboard_of_the_page_is_that_of_the_library(dishes):
    found = dishes.contents
    board, rows = mm.leaderboard(found.model), leaderboard_rows(found)
    assert [row["name"] for row in rows["first"] + rows["rest"]] == board.items.tolist()
    first, by_share = rows["first"][0], [row["component"] for row in found.model.table()]
    assert first["rate"] == f"{100 * board.win_rate[0]:.1f}\N{NO-BREAK SPACE}%"
    assert first["places"] == [board.component_positions[k - 1, 0] for k in by_share]


def test_rankings_are_not_counted_as_choices():
    orders = [["a", "b", "c", "d", "e"], ["b", "a", "c", "d", "e"], ["c", "e", "d", "a", "b"]] * 12
    rankings = mm.Rankings.from_orders(orders)
    model = mm.M4.from_orders([orders[0], orders[2]], phi=0.3)
    report = make_report(model, rankings.comparisons(), **QUICK)
    assert given_data.lead(report.contents) == (
        "36 people gave 36 rankings of all 5 things. From this follow 360 pairs, which are worth "
        "at most 144 separate choices."
    )


@pytest.fixture(scope="module")
def battles(tmp_path_factory):
    """200 battles of 20 people: half of them ties; of the others, the left one wins nine of ten."""
    path, rng = tmp_path_factory.mktemp("battles") / "battles.csv", np.random.default_rng(3)
    lines = ["judge,model_a,model_b,winner"]
    for n in range(400):
        left, right = rng.permutation(list("xyz"))[:2]
        won = "tie" if n % 2 else "model_a" if n % 20 else "model_b"
        lines.append(f"j{n % 40},{left},{right},{won}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
def test_what_was_left_out_and_position_bias_are_said(battles, tmp_path):
    with warnings.catch_warnings(action="ignore"):
        reading = mm.read(battles, columns={"user": "judge"}, format="battles")
        model = mm.fit(reading.comparisons, 1, predictor=False)
        report = make_report(model, reading, **QUICK)
    said = given_data.left_out(report.contents)
    assert said[0] == "50\N{NO-BREAK SPACE}% of all 400 answers were ties: they were left out."
    assert said[1].startswith("People favour a side: of two equally good things, the first (left)")
    assert said[1].endswith("The leaderboard is corrected for it.")
    assert all(sentence in report.html() for sentence in said)
    mm.save(model, tmp_path / "model.m4")
    options = ("--columns", "user=judge", "--format", "battles", "--quick")
    out, _ = run("report", tmp_path / "model.m4", battles, "-o", tmp_path / "r.html", *options)
    assert "50 % of all 400 answers were ties" in out and "People favour a side" in out


def test_labels_of_items_keep_the_sides_of_battles(battles, tmp_path):
    """Names in another order than the identifiers: the same bias and the same leaderboard."""
    from mallowmix.checks.position_bias import position_bias, side_correction

    options = {"columns": {"user": "judge"}, "format": "battles", "ties": "drop"}
    plain = mm.read(battles, **options)
    renamed = plain.relabelled([{"x": "C", "y": "B", "z": "A"}[str(i)] for i in "xyz"])
    assert renamed.comparisons.items.tolist() == ["A", "B", "C"]
    assert position_bias(renamed).left_wins == pytest.approx(position_bias(plain).left_wins)
    assert side_correction(renamed)[::-1] == pytest.approx(side_correction(plain))


def test_all_corners_of_a_polygon_have_the_names_of_tastes():
    theta = np.random.default_rng(0).dirichlet(np.ones(5), 30)
    names = ["comfort", "<b>&spicy", "", "a name that is far too long for it", "very sweet tooth"]
    notes = mixture_figures.mixtures(theta, names)["layout"]["annotations"]
    texts = [note["text"] for note in notes]
    assert [text[:8] for text in texts] == [f"<b>{k}</b>" for k in range(1, 6)]
    assert "comfort" in texts[0] and "&lt;b&gt;&amp;spicy" in texts[1] and texts[2] == "<b>3</b>"
    assert texts[3].count("<br>") == 2 and "…" in texts[3]  # at most two lines
    assert "very sweet<br>tooth" in texts[4]
    for note, corner in zip(notes, corners(5), strict=True):  # outwards of the corner
        side = {"left": 1, "right": -1}.get(note["xanchor"], 0)
        assert side * corner[0] >= 0 and note["x"] * corner[0] >= 0
    bare = mixture_figures.mixtures(theta, [""] * 5)["layout"]
    assert bare["margin"]["l"] == 0 and bare["annotations"][1]["xanchor"] == "center"


@pytest.mark.slow
def test_the_page_speaks_of_tastes_and_choices_and_counts_are_whole(alike):
    text = Text(alike.html())
    assert "components" not in text.of("support") and "people for each of 2 tastes" in (
        text.of("support")
    )
    assert "model: comparisons 720 " in alike.html() and "720.0" not in alike.html()
    said = "A third component does not predict new people better: -0.0095 per comparison"
    assert words.in_tastes(said) == (
        "A third taste does not predict new people better: −0.0095 per choice"
    )


@pytest.mark.slow
def test_many_tastes_on_paper_and_their_key_before_the_figure():
    """Beyond three, paper shows the first ten of each: more filled a page for every taste."""
    for K, folded in ((2, False), (10, True)):
        model = planted(12, K, 0.3, 0.3)
        html = make_report(model, model.sample(40, 12, seed=1).comparisons, **QUICK).html()
        assert ('<details class="long">' in html) == folded
        assert html.index('class="legend"') < html.index('data-figure="places"')


def test_one_of_two_hundred_is_not_nothing():
    assert words.rounded_percent(1 / 200) == "under 1\N{NO-BREAK SPACE}%"
    assert words.rounded_percent(0.0) == "0\N{NO-BREAK SPACE}%"


def test_both_ends_of_a_share_are_labelled():
    theta = np.array([[0.2, 0.8], [0.99, 0.01]])
    axis = mixture_figures.mixtures(theta, ["", ""])["layout"]["xaxis"]
    assert axis["ticktext"][0] == "0%" and axis["ticktext"][-1] == "100%"
    assert axis["range"][1] > 1  # room for the label of the last


def test_the_number_that_fit_printed_has_a_sentence(dishes):
    """The page judges the tastes alone, `fit` its predictor: two numbers, each with its name."""
    from mallowmix.model.fit_report import PredictorTrace
    from mallowmix.report.prediction_text import predictor

    found = dishes.contents
    assert predictor(found) == ""
    trace = PredictorTrace(0.538, 0.578, (), 124)
    model = replace(found.model, report=replace(found.model.report, predictor=trace))
    said = predictor(replace(found, model=model))
    assert "beyond the tastes" in said and "held-out people better than one ranking" in said
    assert "−0.538 against −0.578" in said and "also between things on which it knew" in said
    harder = replace(trace, log_loss_new_items=0.571, one_ranking_new_items=0.57)
    said = predictor(
        replace(found, model=replace(model, report=replace(model.report, predictor=harder)))
    )
    assert "no better than one ranking" in said and "−0.571 against −0.570" in said
    assert "between two things on which it knew no other choice" in said


@pytest.mark.slow
def test_one_ranking_is_not_called_tastes():
    model = planted(6, 1, 0.3, 1.0)
    text = Text(make_report(model, model.sample(40, 12, seed=1).comparisons, **QUICK).html())
    assert "by the ranking alone" in text.of("predicted")
    assert "This ranking" in text.of("predicted") and "tastes" not in text.of("predicted").lower()


def test_a_gain_that_may_be_chance_is_neither_claimed_nor_denied(alike):
    """2 tastes may predict a little better: then the page says that this is not shown."""
    found = alike.contents
    judged = replace(found.against_one, gain=0.02, gain_error=0.015, right=0.02, right_error=0.02)
    unclear = replace(found, diagnosis=replace(found.diagnosis, predictions=judged))
    assert judged.unclear and unclear.no_gain
    said = "2 tastes; that they predict people better than one ranking is not shown"
    assert words.headline(unclear) == said
    assert "may be chance" in words.in_short(unclear)[0]
    assert "2.0 more than one ranking" in prediction_text.judged(judged, 2)[2]
    assert "may be chance" in prediction_text.judged(judged, 2)[2]
    equal = replace(judged, gain=-0.001)
    assert "one ranking does as well" in prediction_text.judged(equal, 2)[2]


def test_where_tastes_are_a_hint_no_share_of_noise_is_claimed(alike, dishes):
    assert "is noise" not in " ".join(words.in_short(alike.contents))
    assert "is noise" in " ".join(words.in_short(dishes.contents))


def test_two_tastes_are_bars_and_three_are_dots(alike, dishes):
    assert words.mixing_note(alike.contents, 12).startswith("Bars count people; a typical")
    assert words.mixing_note(dishes.contents, 20).startswith("Every dot is a person; a typical")


def test_rankings_are_pairs_that_were_decided_not_choices_that_were_made(dishes):
    found = dishes.contents
    ranks = mm.read({"user": ["a", "b"], "ranking": ["x > y > z"] * 2}).comparisons
    assert "a typical person decided 3 pairs" in words.mixing_note(
        replace(found, comparisons=ranks), 3
    )


def test_one_ranking_is_not_called_a_taste_either():
    votes = planted(6, 1, 0.4, 1.0).sample(60, 12, seed=1).comparisons
    model = mm.fit(votes, 1, predictor=False, seed=0)
    text = Text(make_report(model, votes, **QUICK).html())
    assert words.taste(model, 1) == "the one ranking"
    assert words.taste(model.named(["plain"]), 1) == "taste 1 (plain)"
    assert "Taste 1" not in text.of("tastes") and "taste 1" not in text.of("support")
    assert "Everybody" in text.of("tastes")


def test_a_name_that_ends_in_a_full_stop_gets_no_second_one():
    orders = [["F.F.", "F.G.", "Lab", "G.P."], ["G.P.", "Lab", "F.G.", "F.F."]]
    votes = mm.M4.from_orders(orders, phi=0.2).sample(60, 12, seed=1).comparisons
    html = make_report(mm.fit(votes, 2, predictor=False, seed=0), votes, **QUICK).html()
    said = Text(html).of("apart")
    assert ".." not in said and "Things that divide people most" in said


def test_warnings_are_in_the_words_of_the_report():
    said = "3 users made fewer than two comparisons: they are left out of the moments."
    plain = "3 people made fewer than two choices: they are left out of the fit."
    assert said_plainly(said) == plain
    assert said_plainly("'a comparison' never loses.") == "'a comparison' never loses."
