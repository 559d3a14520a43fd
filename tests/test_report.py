"""The report: its numbers are those computed elsewhere, it is one file, hostile names do nothing,
it fits a phone and paper.
"""

import dataclasses
import functools
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest

import mallowmix as mm
from mallowmix.assess.contrasts import agreed, distances, tellings
from mallowmix.assess.mixing import mixing
from mallowmix.assess.one_ranking_gain import against_one
from mallowmix.data.splits import split_users
from mallowmix.data.text import joined
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.heldout.held_out_rows import predict_held_out
from mallowmix.infer.heldout.scored_on import ScoredOn
from mallowmix.model.fitted_model import as_fitted
from mallowmix.model.permutations import kendall
from mallowmix.report import compute_contents, make_report
from mallowmix.report import report_text as words
from mallowmix.report.figures import plotly_labels
from mallowmix.report.page import as_json
from tests.browser import launch, needs_chromium, watch
from tests.command_line import run
from tests.planted import planted

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<a href='javascript:alert(3)'>x</a>",
    "مرحبا",
    "{{ 7*7 }}",
    "%{x}",
    "line\nbreak",
    "\ud800 half",
    "$x^2$",
    "Unbreakable" * 12,
]
QUICK = {"n_replicates": 0, "choose_k": False, "refit": False, "n_simulations": 0}
pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


class Text(HTMLParser):
    """The visible text of a page by section, and the tags in it."""

    def __init__(self, html):
        super().__init__()
        self.section, self.said, self.tags, self.skip = "", {}, [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.skip += tag in ("script", "style")
        if tag == "section":
            self.section = dict(attrs)["id"]

    def handle_endtag(self, tag):
        self.skip -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.skip:
            self.said[self.section] = self.said.get(self.section, "") + data

    def of(self, section):
        """Its text in one line."""
        return re.sub(r"\s+", " ", self.said[section])


def figures_of(html):
    return json.loads(
        re.search(r'<script type="application/json" id="figures">(.*?)</script>', html)[1]
    )


@pytest.fixture(scope="module")
def dishes():
    return mm.load_dishes(n_users=120, per_user=30)


@pytest.fixture(scope="module")
def report(dishes):
    """Everything in it, as quick as it goes."""
    return make_report(
        dishes.model, dishes.comparisons, n_replicates=10, n_simulations=1, title="Dishes"
    )


@pytest.fixture(scope="module")
def page(report):
    return report.html()


@pytest.fixture(scope="module")
def text(page):
    return Text(page)


# ---- numbers ----


def test_telling_choices_by_looking_at_every_pair():
    model = planted(5, 3, 0.4, 0.3, seed=2)
    beta, names = model.beta(), [str(item) for item in model.items]
    for k, found in enumerate(tellings(model)):
        others = [n for n in range(3) if n != k]
        leads = {
            (names[i], names[j]): beta[k, i, j] - max(beta[n, i, j] for n in others)
            for i in range(5)
            for j in range(5)
            if i != j
        }
        assert (
            leads[found.winner, found.loser] == max(leads.values()) == found.here - found.elsewhere
        )
    assert tellings(planted(5, 1)) == (None,)
    same = mm.M4.from_orders([["a", "b"], ["a", "b"]], 0.3, 0.3)
    assert tellings(same) == (None, None)


def test_agreed_choices_are_made_by_every_component():
    model = mm.M4.from_orders([["a", "b", "c", "d"], ["a", "c", "b", "d"]], 0.5, 1.0)
    found = agreed(model, 5)
    assert (found[0].winner, found[0].loser) == ("a", "d")
    assert np.isclose(found[0].least, model.beta()[0, 0, 3])
    assert len(found) == 1  # b and c are put either way, a and d are taken
    assert agreed(mm.M4.from_orders([["a", "b"], ["b", "a"]], 0.5)) == ()


def test_distances_count_discordant_pairs():
    model = mm.M4.from_orders([list("abcd"), list("abdc"), list("dcba")], 0.5)
    assert np.allclose(distances(model), [[0, 1 / 6, 1], [1 / 6, 0, 5 / 6], [1, 5 / 6, 0]])


def test_archetypes_by_hand():
    theta = [[0.9, 0.1, 0], [0.7, 0.2, 0.1], [0.5, 0.45, 0.05], [0.4, 0.3, 0.3], [0.05, 0.45, 0.5]]
    found = mixing(theta, [1, 1, 1, 1, 6])
    assert [(group.components, group.n_people) for group in found.archetypes] == [
        ((2, 3), 1),
        ((1,), 2),
        ((), 1),
        ((1, 2), 1),
    ]
    assert np.allclose([group.share for group in found.archetypes], [0.6, 0.2, 0.1, 0.1])
    assert np.allclose(found.archetypes[1].weights, [0.8, 0.15, 0.05])
    assert np.isclose(found.solo, 0.2) and np.isclose(
        found.mean_largest, (0.9 + 0.7 + 0.5 + 0.4 + 6 * 0.5) / 10
    )
    # two people with one half: one of them counts for six
    assert found.counts.sum() == 10 and found.counts[10] == 7
    assert mixing(np.ones((3, 1))).archetypes[0].components == (1,)


@pytest.mark.slow
def test_predictions_are_judged_by_people_that_were_not_learnt_from(dishes):
    """Every third in turn; votes that touch a held-out item, of a third of a person's items."""
    votes = dishes.comparisons
    found = against_one(dishes.model, votes, seed=3)
    fold, hard = split_users(votes.n_users, 3, seed=3), {"split": "touching", "given": 2 / 3}
    p, w = [[], []], []
    for part in range(3):
        asked = [
            predict_held_out(
                mm.fit(votes.take_users(fold != part), k, seed=3, predictor=False),
                votes.take_users(fold == part),
                seed=3,
                **hard,
            )
            for k in (3, 1)
        ]
        w.append(asked[0].weight)
        for n in (0, 1):
            p[n].append(asked[n].probability)
    p, w = [np.concatenate(each) for each in p], np.concatenate(w)
    right = [np.average(each > 0.5, weights=w) for each in p]
    assert np.allclose([found.several.accuracy, found.one.accuracy], right)
    assert np.isclose(found.right, right[0] - right[1]) and found.right > 5 * found.right_error > 0
    assert np.isclose(found.gain, np.average(np.log(p[0] / p[1]), weights=w))
    assert found.scored_on == ScoredOn("new", "touching") and found.n_people == 120
    assert found.better
    seen = against_one(dishes.model, votes, refit=False)
    assert seen.scored_on.people == "unknown" and seen.n_people == 120


# ---- the page ----


@pytest.mark.slow
def test_every_part_is_there(text):
    assert set(text.said) - {""} == {
        "short",
        "tastes",
        "apart",
        "people",
        "leaderboard",
        "noise",
        "predicted",
        "number",
        "support",
        "glossary",
    }
    for word in (
        "Taste",
        "Mixture",
        "Interval",
        "Noise",
        "Calibration",
        "Mallows",
        "One ranking for all",
    ):
        assert word in text.of("glossary")


def test_tastes_have_shares_places_with_intervals_and_a_telling_line(report, text, dishes):
    model, sure, said = dishes.model, report.contents.intervals, text.of("tastes")
    for k, pair in enumerate(tellings(model)):
        assert f"People who put {pair.winner} over {pair.loser}" in said
        assert (
            f"Taste {k + 1} {100 * model.share[k]:.0f}\N{NO-BREAK SPACE}%".replace(
                "\N{NO-BREAK SPACE}", " "
            )
            in said
        )
        for i in model.order[k]:
            low, high = sure.position_low[k, i] + 1, sure.position_high[k, i] + 1
            run_ = f"{low}" if low == high else f"{low}–{high}"
            assert f"{model.sigma[k, i] + 1}{model.items[i]} {run_}" in said


@pytest.mark.slow
def test_numbers_are_those_computed_elsewhere(report, text, dishes):
    votes, model = dishes.comparisons, dishes.model
    parts = mm.diagnose(model, votes, n_simulations=0).disagreement
    for share in (parts.between_people, parts.within_person, parts.within_component):
        assert f"{100 * share:.0f} %" in text.of("noise")
    theta = mm.weights(model, votes)
    assert np.array_equal(report.contents.theta, theta)
    solo = np.mean(theta.max(axis=1) >= 2 / 3)
    assert f"{100 * solo:.0f} % of the people follow one taste" in text.of("short")
    judged = against_one(model, votes)
    assert f"{100 * judged.several.accuracy:.1f}" in text.of("predicted")
    assert f"{100 * judged.one.accuracy:.1f}" in text.of("predicted")
    pair = mm.diagnose(model, votes, n_simulations=0).polarising_pairs[0]
    assert f"People split most over {pair.item} and {pair.other}" in text.of("short")
    apart = [
        f"{100 * kendall(model.sigma[k], model.sigma[other]):.0f}"
        for k, other in ((0, 1), (0, 2), (1, 2))
    ]
    assert f"Taste 1–{apart[0]}{apart[1]} Taste 2{apart[0]}–{apart[2]}" in text.of("apart")
    choice = mm.choose_k(votes)
    assert choice == report.contents.choice
    for row in choice.table:
        assert f"{row.log_likelihood_per_comparison:.4f}".replace("-", "−") in text.of("number")


def test_figures_hold_the_numbers_and_plotly_takes_them(report, page):
    found, drawn = report.contents, figures_of(page)
    assert set(drawn) == {"people", "largest", "places", "calibration", "new-people", "found-again"}
    for figure in drawn.values():
        go.Figure(figure)  # plotly's own check of every name and value
    dots = drawn["people"]["data"][0]
    assert np.allclose(np.column_stack([dots["a"], dots["b"], dots["c"]]), found.theta, atol=6e-4)
    assert (
        drawn["largest"]["data"][0]["y"]
        == np.histogram(found.theta.max(axis=1), 20, (0, 1))[0].tolist()
    )
    bins = found.against_one.reliability.table
    assert np.allclose(
        drawn["calibration"]["data"][1]["y"], [row.observed for row in bins], atol=1e-4
    )
    names = [name.replace("&amp;", "&") for name in drawn["places"]["layout"]["yaxis"]["ticktext"]]
    taste = next(line for line in drawn["places"]["data"] if line.get("name") == "Taste 2")
    places = {
        str(item): int(place) + 1
        for item, place in zip(found.model.items, found.model.sigma[1], strict=True)
    }
    assert [places[name] for name in names] == taste["x"]


def test_one_file_that_names_nothing_outside_and_is_the_same_every_time(
    page, text, report, dishes, tmp_path
):
    for tag, attributes in text.tags:
        assert "src" not in attributes, tag
        assert re.match(r"#|data:", attributes.get("href", "#")), attributes
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    assert "url(" not in style and "@import" not in style
    assert page == dataclasses.replace(report).html()
    report.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    assert list(tmp_path.iterdir()) == [tmp_path / "a.html"]


def test_no_person_is_named(dishes):
    votes = dishes.comparisons
    marked = mm.Comparisons.from_codes(
        votes.user,
        votes.winner,
        votes.loser,
        votes.weight,
        votes.items,
        [f"Anna Secret {m}" for m in range(votes.n_users)],
    )
    few = mm.Comparisons.from_arrays(["Anna Secret Few"], ["pizza"], ["lasagne"])
    both = mm.Comparisons.from_arrays(
        [*marked.users[marked.user], *few.users],
        [*marked.items[marked.winner], "pizza"],
        [*marked.items[marked.loser], "lasagne"],
    )
    html = make_report(dishes.model, both, **QUICK).html()
    assert "Secret" not in html and "fewer than two choices" in html


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads(dishes):
    options = QUICK | {"refit": True, "n_replicates": 10}
    one, two = (
        make_report(dishes.model, dishes.comparisons, **options, n_jobs=n_jobs).html()
        for n_jobs in (1, 2)
    )
    assert one == two


def test_what_was_not_asked_for_is_said(dishes):
    text = Text(make_report(dishes.model, dishes.comparisons, **QUICK).html())
    assert "Other numbers were not tried" in text.of("number")
    assert "No intervals were asked for" in text.of("support")
    assert "if so, the numbers are too good" in text.of("predicted")


@pytest.mark.slow
@pytest.mark.parametrize("K", [1, 2, 5])
def test_any_number_of_tastes(K):
    model = planted(8, K, 0.3, 0.3)
    votes = model.sample(40, 12, seed=1).comparisons
    html = make_report(model, votes, **QUICK).html()
    for figure in figures_of(html).values():
        go.Figure(figure)
    said = Text(html).said
    assert ("apart" in said) == (K > 1) and ["Everybody", f"Taste {K}"][K > 1] in said["tastes"]


@pytest.mark.slow
def test_little_data_and_bradley_terry_components():
    votes = mm.read_comparisons([("u", "a", "b")])
    model = mm.M4.from_orders([["a", "b"], ["b", "a"]], 0.3, 1.0)
    text = Text(make_report(model, votes).html())
    assert (
        "far too few" in text.of("support")
        and "Be careful" in text.of("short")
        and "annot tell" in text.of("number")
    )
    scored = as_fitted(mm.BradleyTerryModel([[1.0, 0], [0, 1.0]], model.alpha, model.items))
    assert compute_contents(scored, votes, choose_k=False).intervals is None


def test_no_votes_and_wrong_options_are_refused(dishes):
    nothing = mm.Comparisons.from_codes([], [], [], [], dishes.model.items, ["nobody"])
    with pytest.raises(DataError, match="no comparisons to report on"):
        make_report(dishes.model, nothing)
    with pytest.raises(OptionError, match="must be 0, for no intervals, or at least 10"):
        make_report(dishes.model, dishes.comparisons, n_replicates=3)


# ---- hostile names ----


@functools.cache
def hostile():
    model = planted(len(NASTY), 3, 0.3, 0.3)
    model = dataclasses.replace(model, items=NASTY)
    votes = model.sample(60, 20, seed=1).comparisons
    return make_report(model, votes, title=NASTY[1], **QUICK).html()


def test_hostile_names_are_text():
    html = hostile()
    text = Text(html)
    assert not any(
        tag in ("img", "a") and not attributes.get("href", "#").startswith("#")
        for tag, attributes in text.tags
    )
    assert [tag for tag, _ in text.tags].count("script") == 3
    assert not any(name.startswith("on") for _, attributes in text.tags for name in attributes)
    for name in NASTY[:6]:
        assert name in text.said["tastes"]
    assert (
        "\ud800" not in html
        and "line\\nbreak" in text.said["tastes"]
        and "\\ud800 half" in text.said["tastes"]
    )


def test_json_cannot_leave_its_element_and_labels_are_not_markup():
    assert json.loads(as_json({"a": NASTY[:3]})) == {"a": NASTY[:3]}
    assert not re.search(r"[<>&]", str(as_json(NASTY[:3])))
    assert plotly_labels(["<b>&</b>"]) == ["&lt;b&gt;&amp;&lt;/b&gt;"]
    assert len(plotly_labels(["x" * 100])[0]) == 22


def test_words_for_numbers():
    assert [words.of_100(share) for share in (0, 0.002, 0.5, 0.998, 1)] == [
        "0",
        "fewer than 1",
        "50",
        "over 99",
        "100",
    ]
    assert words.at_most(0.002) == "fewer than 1" and words.at_most(0.1) == "at most 10"
    assert words.no_fewer_than(0.998) == "over 99" and words.no_fewer_than(0.83) == "at least 83"
    assert joined(["a"]) == "a" and joined(["a", "b", "c"]) == "a, b and c"
    assert words.rounded_percent(0.003) == "under 1\N{NO-BREAK SPACE}%"


def test_no_taste_is_the_most_common_of_equals():
    orders = [["tea", "milk", "water"], ["water", "milk", "tea"]]
    for alpha, begins in (([0.5, 0.5], "One of the most common tastes"), ([0.8, 0.2], "The most")):
        model = mm.M4.from_orders(orders, 0.3, alpha)
        found = SimpleNamespace(model=model, no_gain=False, unsure=())
        (said,) = words._largest(found)
        assert said.startswith(begins)


# ---- notebooks ----


def test_results_show_themselves_in_notebooks(report, dishes):
    found = report.contents
    html = dishes.model._repr_html_()
    assert (
        "lasagne" in html
        and html.count("<tr>") == 4
        and f"{100 * dishes.model.share[0]:.1f}&nbsp;%" in html
    )
    assert (
        found.choice.reason in found.choice._repr_html_()
        and "<strong>3</strong>" in found.choice._repr_html_()
    )
    assert (
        found.intervals._repr_html_().count("<tr>") == 4
        and "lasagne</bdi>" in found.intervals._repr_html_()
    )
    assert found.diagnosis._repr_html_().count("<li>") == len(found.diagnosis.words().splitlines())
    assert "120 people made 3,600 choices" in report._repr_html_()
    nasty = mm.M4.from_orders([NASTY[:3]])._repr_html_()
    assert "<img" not in nasty and "<script" not in nasty and "&lt;img" in nasty


# ---- the command line ----


@pytest.fixture
def files(dishes, tmp_path):
    mm.save(dishes.model, tmp_path / "model.m4")
    import pyarrow.parquet as pq

    pq.write_table(dishes.comparisons.to_arrow(), tmp_path / "votes.parquet")
    return tmp_path


def test_the_command_writes_one_page(files):
    out, _ = run(
        "report",
        files / "model.m4",
        files / "votes.parquet",
        "-o",
        files / "tastes.html",
        "--quick",
        "--title",
        "Food",
    )
    assert "Wrote" in out and "taste 1" in out
    text = Text((files / "tastes.html").read_text(encoding="utf-8"))
    assert "Food" in text.said[""]


def test_the_command_refuses_before_it_works(files):
    words_ = ("report", files / "model.m4", files / "votes.parquet")
    assert "ends in .html" in run(*words_, "-o", files / "tastes.pdf", code=2)[1]
    assert (
        "at least 10" in run(*words_, "-o", files / "tastes.html", "--n-replicates", 5, code=2)[1]
    )
    assert not (files / "tastes.html").exists()


# ---- a browser ----


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


def opened(browser, path, width):
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.set_default_timeout(300_000)
    wrong = watch(context, path.as_uri())
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn]")
    return page, wrong


@pytest.fixture(scope="module")
def shown(browser, page, tmp_path_factory):
    """The page, and what went wrong on it; opened once, for reading and drawing five megabytes
    takes a while.
    """
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return opened(browser, path, 1100)


FITS = (
    "(width) => [...document.querySelectorAll('.figure .main-svg')].every((svg) => "
    "svg.getAttribute('width') <= width)"
)
WIDE = "document.documentElement.scrollWidth"


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [1100, 768, 360])
def test_it_is_drawn_without_noise_or_requests_and_never_wider_than_the_screen(shown, page, width):
    page_, wrong = shown
    page_.set_viewport_size({"width": width, "height": 800})
    page_.wait_for_function(FITS, arg=width)
    assert page_.evaluate(WIDE) <= width
    assert page_.get_attribute("html", "data-drawn") == str(len(figures_of(page)))
    assert page_.locator(".figure .main-svg").count() >= len(figures_of(page))
    assert wrong == []


@pytest.mark.slow
@needs_chromium
def test_on_paper_everything_is_unfolded_and_fits(shown):
    page_, wrong = shown
    page_.set_viewport_size({"width": 1100, "height": 800})
    page_.emulate_media(media="print")
    page_.set_viewport_size({"width": 680, "height": 990})  # A4 less its margins
    page_.wait_for_function(FITS, arg=680)
    assert page_.evaluate(WIDE) <= 680
    assert page_.locator("details:not([open])").count() == 0
    page_.emulate_media(media="screen")
    page_.wait_for_function("() => document.querySelectorAll('details[open]').length === 0")
    assert wrong == []


@pytest.mark.slow
@needs_chromium
def test_hostile_names_do_nothing_in_a_browser(browser, tmp_path):
    (tmp_path / "report.html").write_text(hostile(), encoding="utf-8")
    page_, wrong = opened(browser, tmp_path / "report.html", 360)
    assert page_.evaluate(WIDE) <= 360
    assert page_.locator("main img, main script, .figure a").count() == 0
    assert wrong == []
