"""The pages in a real browser: explore, the survey by mouse, keys and touch, reload, no connection,
admin, hostile names.

Every page must be silent (no error on the console) and ask no other host for anything.
"""

import pytest
import sqlalchemy as sa

import mallowmix as mm
from benchmarks.web_clients import ADMIN, Server, in_database
from browser import launch, needs_chromium, watch
from mallowmix.model.model_file import save

pytestmark = needs_chromium
NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "'; DROP TABLE votes; --",
    "مرحبا",
    "tea",
    "coffee",
]
WAIT = 300_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The dishes with known people; six questions each."""
    folder = tmp_path_factory.mktemp("web")
    dishes = mm.load_dishes(n_users=40, per_user=20)
    save(dishes.model, folder / "model.m4")
    import pyarrow.parquet as pq

    pq.write_table(dishes.comparisons.to_arrow(), folder / "people.parquet")
    words = [
        "model.m4",
        "--votes",
        "votes.db",
        "--people",
        "people.parquet",
        "--questions",
        "6",
        "--propose",
    ]
    started = Server([*words, "--title", "What do you like to eat?"], folder)
    started.start()
    yield started
    started.kill()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture
def context(browser, server, request):
    """A fresh visitor, whose pages must be silent and stay at home. `request.param` holds options,
    such as a phone's size.
    """
    options = getattr(request, "param", {})
    visitor = browser.new_context(
        base_url=server.url, **({"viewport": {"width": 1100, "height": 760}} | options)
    )
    visitor.set_default_timeout(WAIT)
    wrong = watch(visitor, server.url)
    visitor.wrong = wrong
    yield visitor
    visitor.close()
    assert wrong == []


def ready(page):
    page.wait_for_selector("#survey[aria-busy=false]")


def votes_of(server):
    return in_database(str(server.folder / "votes.db"))


def person_of(page):
    return page.evaluate(
        "() => fetch('/api/v1/me').then((said) => said.json()).then((me) => me.person)"
    )


def mine(server, page):
    person = person_of(page)
    return [vote for vote in votes_of(server) if vote[0] == person]


CHANGED = (
    "(old) => location.pathname === '/me' || document.querySelector('#count')?.textContent !== old"
)
ASKED_OR_DONE = (
    "() => location.pathname === '/me' || document.querySelector('#survey[aria-busy=false]')"
)


def go_through(page, choose):
    """Answer until the result is there; the pairs that were shown."""
    seen = []
    page.wait_for_function(ASKED_OR_DONE)
    while not page.url.endswith("/me"):
        seen.append((page.inner_text("#first"), page.inner_text("#second")))
        count = page.inner_text("#count")
        assert count == f"Question {len(seen)} of at most 6"
        choose(page, len(seen) - 1)
        page.wait_for_function(CHANGED, arg=count)
        page.wait_for_function(ASKED_OR_DONE)
    return seen


def check_result(page):
    page.wait_for_selector("#keep:not([hidden])")
    assert "From " in page.inner_text("#summary") and page.locator("#mixture .bar").count() == 3
    assert page.locator("#ranking li").count() == 16
    return page.input_value("#link")


@pytest.mark.slow
def test_a_whole_survey_by_mouse_and_a_link_to_keep(context, server, browser):
    page = context.new_page()
    page.goto("/")
    page.click("text=Start")
    buttons = ("#first", "#second", "#skip")
    seen = go_through(page, lambda page, n: page.click(buttons[n % 3]))
    assert len(seen) == 6 and len({frozenset(pair) for pair in seen}) == 6
    link = check_result(page)
    rows = mine(server, page)
    assert len(rows) == 6 and sum(choice == 0 for *_, choice in rows) == 2
    other = browser.new_context(base_url=server.url)
    stranger = other.new_page()
    stranger.goto(link)
    stranger.wait_for_selector("#mixture:not([hidden])")
    assert stranger.inner_text("#ranking .slot") == page.inner_text("#ranking .slot")
    assert stranger.locator("#delete").count() == 0
    other.close()
    page.fill("#name", "haggis")
    page.click("#propose button")
    page.wait_for_function(
        "() => document.querySelector('#proposed').textContent.startsWith('Thank you')"
    )
    page.click("#more")
    ready(page)
    assert page.inner_text("#count") == "Question 7"
    page.goto("/me")
    page.click("#delete")
    page.click("#really")
    page.wait_for_url(server.url + "/")
    assert [vote for vote in votes_of(server) if vote[0] == rows[0][0]] == []


@pytest.mark.slow
def test_a_whole_survey_by_keyboard_alone(context, server):
    page = context.new_page()
    page.goto("/survey")
    keys = ["ArrowLeft", "ArrowRight", "ArrowDown", "1", "2", "0"]
    seen = go_through(page, lambda page, n: page.keyboard.press(keys[n]))
    check_result(page)
    said = [choice for *_, choice in mine(server, page)]
    assert len(seen) == 6 and said.count(0) == 2
    page.goto("/survey?more=1")
    ready(page)
    page.keyboard.press("Tab")  # the link that skips to the content
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    while page.evaluate("() => document.activeElement.id") != "second":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#count').textContent === 'Question 8'")
    assert page.evaluate("() => document.activeElement.id") == "second"  # focus stays where it was
    assert len(mine(server, page)) == 7


@pytest.mark.slow
def test_a_reload_in_the_middle_shows_the_same_question(context, server):
    page = context.new_page()
    page.goto("/survey")
    for _ in range(2):
        ready(page)
        page.click("#first")
        page.wait_for_timeout(150)
    ready(page)
    shown = [page.inner_text(part) for part in ("#count", "#first", "#second")]
    page.reload()
    ready(page)
    assert [page.inner_text(part) for part in ("#count", "#first", "#second")] == shown
    assert shown[0] == "Question 3 of at most 6" and len(mine(server, page)) == 2


@pytest.mark.slow
def test_a_lost_connection_loses_and_doubles_nothing(context, server):
    """The answer is given without a connection, kept over a reload, and stored once when the line
    is back.

    A second one reaches the server while its reply is lost: it is sent again with the same key.
    """
    page = context.new_page()
    page.goto("/survey")
    ready(page)
    person = person_of(page)
    context.set_offline(True)
    page.click("#first")
    page.wait_for_selector("#notice:not([hidden])")
    assert "There is no connection. Your answer is kept" in page.inner_text("#notice")
    assert mine_of(server, person) == []
    context.set_offline(False)
    page.wait_for_function(
        "() => document.querySelector('#count').textContent.startsWith('Question 2')"
    )
    assert len(mine_of(server, person)) == 1
    ready(page)
    sent = []

    def lose_the_reply(route):
        sent.append(route.request.post_data_json["key"])
        if len(sent) == 1:
            route.fetch()  # it reaches the server
            route.abort("connectionreset")  # its reply does not reach us
        else:
            route.continue_()

    page.route("**/api/v1/votes", lose_the_reply)
    page.click("#second")
    page.wait_for_function(
        "() => document.querySelector('#count').textContent.startsWith('Question 3')"
    )
    assert len(sent) == 2 and sent[0] == sent[1] and len(mine_of(server, person)) == 2
    # the browser's word for what we did to it
    context.wrong[:] = [said for said in context.wrong if "net::ERR_" not in said]


def mine_of(server, person):
    return [vote for vote in votes_of(server) if vote[0] == person]


@pytest.mark.slow
def test_an_answer_waits_in_the_browser_over_a_reload(context, server):
    page = context.new_page()
    page.goto("/survey")
    ready(page)
    person = person_of(page)
    page.route("**/api/v1/votes", lambda route: route.abort())
    page.click("#first")
    page.wait_for_selector("#notice:not([hidden])")
    assert mine_of(server, person) == []
    page.unroute("**/api/v1/votes")
    page.reload()
    page.wait_for_function(
        "() => document.querySelector('#count').textContent.startsWith('Question 2')"
    )
    assert len(mine_of(server, person)) == 1
    context.wrong[:] = [said for said in context.wrong if "net::ERR_" not in said]


PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "color_scheme": "dark",
}


@pytest.mark.slow
@pytest.mark.parametrize("context", [PHONE], indirect=True)
def test_a_phone_and_a_finger(context, server):
    page = context.new_page()
    for path in ("/", "/survey", "/explore", "/admin", "/api"):
        page.goto(path)
        page.wait_for_load_state("load")
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 360, f"{path} is {wide} wide"
    page.goto("/survey")
    ready(page)
    for part in ("#first", "#second", "#skip"):
        box = page.locator(part).bounding_box()
        # large enough for a thumb, and in sight
        assert box["height"] >= 44 and box["y"] + box["height"] <= 740
    go_through(page, lambda page, n: page.tap("#first"))
    check_result(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_explore_someone(context):
    page = context.new_page()
    page.goto("/explore")
    page.wait_for_selector("#people:not([hidden])")
    assert page.locator(".taste").count() == 3 and page.locator("#people circle").count() == 40
    assert page.locator("#apart circle").count() == 48
    # six pairs, with a mark for each of the three tastes
    assert page.locator("#pairs .rail").count() == 6
    assert page.locator("#pairs .mark").count() == 18
    page.fill("#choices", "ceviche > lasagne\ntabbouleh > vindaloo")
    page.click("#someone button")
    page.wait_for_selector("#shown:not([hidden])")
    first = page.inner_text("#their-mixture .name >> nth=0")
    model = mm.load_dishes(n_users=40, per_user=20).model
    theta = mm.weights(
        model,
        mm.read_comparisons(
            [("u", "ceviche", "lasagne"), ("u", "tabbouleh", "vindaloo")]
        ).with_items(model.items),
    )[0]
    assert (
        first.startswith(f"Taste {theta.argmax() + 1}") and f"{round(100 * theta.max())}" in first
    )
    page.select_option("#one", "pizza")
    page.select_option("#two", "vindaloo")
    page.wait_for_function("() => document.querySelector('#chance').textContent.includes('likely')")
    page.fill("#choices", "nonsense")
    page.click("#someone button")
    assert "Line 1 is not of the form" in page.inner_text("#wrong")
    page.select_option("#pick", index=1)
    page.wait_for_function("() => document.querySelector('#choices').value.split('\\n').length > 5")


CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1);
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const over = (colour, under) => {
    brush.fillStyle = `rgb(${under.join(',')})`; brush.fillRect(0, 0, 1, 1);
    brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const ground = (node) => node
    ? over(getComputedStyle(node).backgroundColor, ground(node.parentElement))
    : [255, 255, 255];
  const light = (c) => c.map((v) => v / 255)
    .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const seen = (node) => node.checkVisibility() && node.getBoundingClientRect().width > 1;
  const nodes = [...document.querySelectorAll('main *, header *, footer *')];
  const text = nodes.filter((node) => !node.closest('svg') && seen(node)
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()));
  return text.map((node) => {
    const under = ground(node), colour = over(getComputedStyle(node).color, under);
    const [a, b] = [light(colour), light(under)];
    return [node.tagName + '.' + node.className, (Math.max(a, b) + .05) / (Math.min(a, b) + .05)];
  });
}"""
NAMELESS = """() => [
    ...document.querySelectorAll('button, a, input:not([type=hidden]), select, textarea')
  ].filter((node) => node.checkVisibility()
    && !(node.labels?.length || node.getAttribute('aria-label') || node.textContent.trim()))
  .map((node) => node.outerHTML)"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "context",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}],
    indirect=True,
    ids=["light", "dark"],
)
def test_text_stands_out_and_everything_has_a_name(context):
    """Contrast of at least 4.5 to 1 for all text (WCAG AA), as it is painted; no control without a
    label; one heading.
    """
    page = context.new_page()
    for path, ready_when in (
        ("/", "h1"),
        ("/survey", "#survey[aria-busy=false]"),
        ("/explore", "#people:not([hidden])"),
        ("/api", "h1"),
    ):
        page.goto(path)
        page.wait_for_selector(ready_when)
        found = page.evaluate(CONTRAST)
        assert len(found) > 5 and [(name, ratio) for name, ratio in found if ratio < 4.5] == []
        assert (
            page.evaluate(NAMELESS) == []
            and page.locator("h1").count() == 1
            and page.locator("main").count() == 1
        )


@pytest.mark.slow
def test_admin_in_the_browser(context, server):
    page = context.new_page()
    page.goto("/admin")
    page.fill("#token", "wrong-wrong-wrong")
    with page.expect_response("**/admin/login") as said:
        page.click("form button")
    assert said.value.status == 401 and "not the admin token" in page.inner_text("main")
    context.wrong[:] = [each for each in context.wrong if "401" not in each]
    page.fill("#token", ADMIN)
    page.click("form button")
    page.wait_for_selector(".admin")
    assert ADMIN not in page.url and ADMIN not in page.content()
    page.fill("#name", "shakshuka")
    page.click("text=Add")
    page.wait_for_selector("text=The item was added.")
    with page.expect_download() as download:
        page.click("text=CSV")
    first = download.value.path().read_text(encoding="utf-8").splitlines()[0]
    assert first == "user,winner,loser,origin"
    page.click("text=Leave")
    page.goto("/admin")
    assert page.locator("#token").count() == 1


@pytest.mark.slow
def test_names_are_text_in_the_browser_too(browser, tmp_path):
    """Scripts, SQL and right-to-left text as items: shown as they are, and nothing runs."""
    (tmp_path / "items.csv").write_text("\n".join(f'"{name}"' for name in NASTY), encoding="utf-8")
    model = mm.M4.from_orders([NASTY, NASTY[::-1]], phi=0.2)
    save(model, tmp_path / "model.m4")
    server = Server(
        ["model.m4", "--votes", "votes.db", "--title", "<b>T</b>", "--questions", "3"], tmp_path
    )
    server.start()
    try:
        context, wrong = browser.new_context(base_url=server.url), []
        page = context.new_page()
        page.set_default_timeout(WAIT)
        context.on(
            "console", lambda said: wrong.append(said.text) if said.type == "error" else None
        )
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto("/explore")
        page.wait_for_selector("#tastes:not([hidden])")
        assert set(page.locator(".taste >> nth=0 >> li").all_inner_texts()) == set(NASTY)
        page.goto("/survey")
        for n in range(3):
            page.wait_for_function(
                f"() => document.querySelector('#count').textContent.startsWith('Question {n + 1}')"
            )
            ready(page)
            assert {page.inner_text("#first"), page.inner_text("#second")} <= set(NASTY)
            page.keyboard.press("ArrowLeft")
        page.wait_for_selector("#keep:not([hidden])")
        assert page.locator("h1").count() == 1 and page.locator("b").count() == 0 and wrong == []
        context.close()
    finally:
        server.kill()
    archive = sa.create_engine(f"sqlite:///{tmp_path / 'votes.db'}")
    with archive.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM votes")).scalar() == 3
    assert (tmp_path / "server.log").stat().st_size < 2000


VOTE = """async ([pairs]) => {
  await fetch('/api/v1/people', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  const { csrf } = await (await fetch('/api/v1/me')).json();
  const items = new Map((await (await fetch('/api/v1/items')).json()).map((each) => [each.name, each.id]));
  const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf };
  for (const [n, [winner, loser]] of pairs.entries()) {
    const vote = { key: `vote-${1000 + n}`, first: items.get(winner), second: items.get(loser), choice: 'first' };
    await fetch('/api/v1/votes', { method: 'POST', headers, body: JSON.stringify(vote) });
  }
}"""  # noqa: E501


@pytest.mark.slow
def test_the_result_says_what_is_their_own(tmp_path, browser):
    """The second taste, but for pizza, which is first: in words, and with both numbers."""
    from tests.test_user_explanation import ITEMS, MODEL, moved

    save(MODEL, tmp_path / "model.m4")
    server = Server(["model.m4", "--votes", "votes.db"], tmp_path)
    server.start()
    try:
        context = browser.new_context(base_url=server.url)
        context.set_default_timeout(WAIT)
        wrong, page, order = watch(context, server.url), context.new_page(), moved("pizza", 0)
        page.goto("/")
        page.evaluate(
            VOTE,
            [[[ITEMS[i], ITEMS[j]] for n, i in enumerate(order) for j in order[n + 1 :]]],
        )
        page.goto("/me")
        page.wait_for_selector("#own:not([hidden])")
        said = page.inner_text("#own")
        assert "Mostly taste 2, and you like pizza far more than this mixture does." in said
        assert page.locator("#own li").count() == 1 and "by the mixture alone with" in said
        page.goto(page.input_value("#link"))
        page.wait_for_selector("#own:not([hidden])")
        assert "and they like pizza far more" in page.inner_text("#own")
        context.close()
        assert wrong == []
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_labels_are_whole_in_the_picture_of_places_and_no_answers_have_a_way_on(
    width, tmp_path, browser
):
    """Wide letters need more room than their number says."""
    names = [f"WWWW MMMM WWWW MMMM {n}" for n in range(6)]
    save(mm.M4.from_orders([names, names[::-1]], phi=0.2), tmp_path / "model.m4")
    server = Server(["model.m4", "--votes", "votes.db"], tmp_path)
    server.start()
    try:
        context = browser.new_context(base_url=server.url, viewport={"width": width, "height": 800})
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto("/explore")
        page.wait_for_selector(".chart text")
        chart, *labels = page.evaluate(
            """() => [document.querySelector('.chart'),
              ...document.querySelectorAll('.chart text[text-anchor=end]')]
              .map((each) => each.getBoundingClientRect().left)"""
        )
        assert len(labels) == 7 and min(labels) >= chart
        page.goto("/me")
        page.click("#summary a")
        assert page.url.endswith("/survey")
        context.close()
    finally:
        server.kill()
