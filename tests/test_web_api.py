"""The HTTP API and the admin's pages: what they answer against the library, and whom they let do
what.
"""

import contextlib
import io
import time
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient

import mallowmix as mm
from benchmarks.questions import Person, Setting, one_phi, planted
from mallowmix.web.application import create_app
from mallowmix.web.sessions import COOKIE
from mallowmix.web.settings import Settings
from mallowmix.web.site import Site

TOKEN = "the-admin's-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
DISHES = mm.load_dishes(n_users=60, per_user=30)


def serving(folder, model=DISHES.model, names=None, crowd=None, **settings):
    """A client of a new site; the site is `client.app.state.site`."""
    options = {"admin_token": TOKEN, "propose": True, "rate": 0.0, "nice": 0} | settings
    return TestClient(
        create_app(
            Site(
                str(folder / "votes.db"), Settings(**options), model=model, names=names, crowd=crowd
            )
        )
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("web"), crowd=DISHES.comparisons) as opened:
        yield opened


def begin(client):
    """A participant by bearer token."""
    client.cookies.clear()
    told = client.post("/api/v1/people", json={"token": True}).json()
    client.cookies.clear()
    return {"Authorization": f"Bearer {told['token']}"}, told


def answer_all(client, headers, choice="first", n=100):
    """Go through the survey; the questions that were asked."""
    asked = []
    while (
        not (question := client.get("/api/v1/next-pair", headers=headers).json())["done"]
        and len(asked) < n
    ):
        asked.append(question)
        vote = {
            "key": f"key-{len(asked):05d}",
            "first": question["first"]["id"],
            "second": question["second"]["id"],
        }
        said = client.post("/api/v1/votes", headers=headers, json=vote | {"choice": choice})
        assert said.status_code == 200 and said.json() == {"stored": True, "repeated": False}
    return asked


def choices_of(client, person):
    rows = client.get("/admin/votes.csv", headers=BEARER).text.strip().splitlines()[1:]
    return [tuple(row.split(",")[:3]) for row in rows if row.startswith(person + ",")]


# ---- the survey ----


@pytest.mark.slow
def test_a_whole_survey_and_its_result_are_those_of_the_library(client):
    headers, told = begin(client)
    asked = answer_all(client, headers)
    pairs = [frozenset((q["first"]["id"], q["second"]["id"])) for q in asked]
    assert 8 <= len(pairs) <= 25 and len(set(pairs)) == len(pairs)
    assert [q["number"] for q in asked] == list(range(1, len(asked) + 1))
    assert all(a["progress"] < b["progress"] for a, b in pairwise(asked))
    result = client.get("/api/v1/me/result", headers=headers).json()
    votes = mm.read_comparisons(choices_of(client, told["person"])).with_items(DISHES.model.items)
    posterior = mm.weight_intervals(DISHES.model, votes)
    for row in result["mixture"]:
        k = row["component"] - 1
        expected = [
            posterior.mean[0, k],
            posterior.low[0, k],
            posterior.high[0, k],
            DISHES.model.share[k],
        ]
        np.testing.assert_allclose(
            [row["weight"], row["low"], row["high"], row["crowd"]], expected, atol=1e-12
        )
    (ranking,) = mm.rank(DISHES.model, votes)
    assert [line["item"] for line in result["ranking"]] == [line.item for line in ranking]
    crowd = {line.item: line.position for line in mm.rank(DISHES.model)[0]}
    assert all(line["crowd"] == crowd[line["item"]] for line in result["ranking"])
    agree = np.mean(
        [crowd[a.item] < crowd[b.item] for n, a in enumerate(ranking) for b in ranking[n + 1 :]]
    )
    assert result["agreement"] == pytest.approx(agree)
    for line in result["differences"]:
        assert not line["low"] <= line["crowd"] <= line["high"]
    # the link to keep
    assert client.get("/api/v1/result", params={"link": told["link"]}).json() == result
    more = client.get("/api/v1/next-pair?more=true", headers=headers).json()
    assert not more["done"] and frozenset((more["first"]["id"], more["second"]["id"])) not in pairs


def test_the_same_question_until_it_is_answered(client):
    headers, _ = begin(client)
    first, again = (client.get("/api/v1/next-pair", headers=headers).json() for _ in range(2))
    assert first == again and first["number"] == 1 and first["most"] == 25
    vote = {
        "key": "a-key-of-mine",
        "first": first["first"]["id"],
        "second": first["second"]["id"],
        "choice": "skip",
    }
    assert client.post("/api/v1/votes", headers=headers, json=vote).json() == {
        "stored": True,
        "repeated": False,
    }
    assert client.post("/api/v1/votes", headers=headers, json=vote).json() == {
        "stored": True,
        "repeated": True,
    }
    assert (
        client.post("/api/v1/votes", headers=headers, json=vote | {"choice": "first"}).status_code
        == 409
    )
    assert (
        client.post(
            "/api/v1/votes", headers=headers, json=vote | {"key": "another-key"}
        ).status_code
        == 409
    )
    turned = vote | {"first": vote["second"], "second": vote["first"]}
    # skipped either way round
    assert client.post("/api/v1/votes", headers=headers, json=turned).json()["repeated"]
    me = client.get("/api/v1/me", headers=headers).json()
    assert (me["answered"], me["skipped"]) == (0, 1)


def test_cookies_and_csrf(client):
    client.cookies.clear()
    assert client.get("/api/v1/me").json()["person"] is None
    told = client.post("/api/v1/people", json={})
    cookie = told.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and told.json()["token"] is None
    question = client.get("/api/v1/next-pair").json()
    vote = {
        "key": "some-key-1",
        "first": question["first"]["id"],
        "second": question["second"]["id"],
        "choice": "first",
    }
    assert client.post("/api/v1/votes", json=vote).status_code == 403
    assert (
        client.post("/api/v1/votes", json=vote, headers={"X-CSRF-Token": "0" * 64}).status_code
        == 403
    )
    right = {"X-CSRF-Token": client.get("/api/v1/me").json()["csrf"]}
    for foreign in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert client.post("/api/v1/votes", json=vote, headers=right | foreign).status_code == 403
    assert client.get("/api/v1/me").json()["answered"] == 0
    assert (
        client.post(
            "/api/v1/votes", json=vote, headers=right | {"Origin": "http://testserver"}
        ).status_code
        == 200
    )
    assert client.delete("/api/v1/me").status_code == 403
    assert client.delete("/api/v1/me", headers=right).status_code == 204
    assert client.get("/api/v1/me").json()["person"] is None
    client.cookies.set(COOKIE, "made-up")
    assert client.get("/api/v1/next-pair").status_code == 401
    client.cookies.clear()


def test_someone_deleted_is_gone_with_all_votes(client):
    headers, told = begin(client)
    answer_all(client, headers, n=3)
    assert len(choices_of(client, told["person"])) == 3
    number = int(told["person"][1:])
    assert client.post(f"/admin/people/{number}/delete", headers=BEARER).status_code in (200, 303)
    assert choices_of(client, told["person"]) == []
    assert client.get("/api/v1/me/result", headers=headers).status_code == 401
    vote = {"key": "a-late-vote", "first": 1, "second": 2, "choice": "first"}
    assert client.post("/api/v1/votes", headers=headers, json=vote).status_code == 401
    assert client.get("/api/v1/result", params={"link": told["link"]}).status_code == 404


@pytest.mark.slow
def test_adaptive_questions_through_the_api_need_fewer_answers(tmp_path, monkeypatch):
    """Planted people are asked by the page and with pairs at random; each answers a pair the same
    way whenever it is asked.

    As many adaptive questions as reach the error of 16 random ones, as a part of 16. Nothing here
    differs from run to run; pairs
    at random would need all 16.
    """
    setting = Setting(n_items=12, n_components=3, people=16, models=1, questions=16, reference=16)
    with serving(tmp_path, planted(setting, 0.5, 0), questions=100, least=100) as client:

        def most_informative(person, told):
            if not told:
                person.headers = begin(client)[0]
            else:
                winner, loser = told[-1]
                vote = {
                    "key": f"key-{len(told):05d}",
                    "first": winner + 1,
                    "second": loser + 1,
                    "choice": "first",
                }
                assert (
                    client.post("/api/v1/votes", headers=person.headers, json=vote).status_code
                    == 200
                )
            question = client.get("/api/v1/next-pair", headers=person.headers).json()
            return question["first"]["id"] - 1, question["second"]["id"] - 1

        monkeypatch.setattr(Person, "most_informative", most_informative)
        row = one_phi(setting, 0.5)
    assert row["ratio"] <= 0.75 and row["random"][0] == row["adaptive"][0] > row["random"][16]


# ---- the model ----


def test_weights_rank_and_predict_are_those_of_the_library(client):
    choices = [
        {"winner": "ceviche", "loser": "lasagne"},
        {"winner": "tabbouleh", "loser": "vindaloo", "times": 2},
    ]
    votes = mm.Comparisons.from_arrays(
        ["u", "u"], ["ceviche", "tabbouleh"], ["lasagne", "vindaloo"], [1, 2]
    )
    votes = votes.with_items(DISHES.model.items)
    mixture = client.post("/api/v1/weights", json={"choices": choices}).json()["mixture"]
    by_component = [row["weight"] for row in sorted(mixture, key=lambda row: row["component"])]
    np.testing.assert_allclose(by_component, mm.weights(DISHES.model, votes)[0], atol=1e-9)
    asked = {"choices": choices, "pairs": [["pizza", "tacos"], ["tacos", "pizza"]]}
    # the newest version without a number
    chances = client.post("/api/predict", json=asked).json()["probabilities"]
    np.testing.assert_allclose(
        chances, mm.predict(DISHES.model, votes, [("pizza", "tacos"), ("tacos", "pizza")])[0]
    )
    (ranking,) = mm.rank(DISHES.model, votes)
    found = client.post("/api/v1/rank", json={"choices": choices}).json()["ranking"]
    assert [(line["item"], line["low"], line["high"]) for line in found] == [
        (r.item, r.low, r.high) for r in ranking
    ]
    nobody = client.post("/api/v1/predict", json={"pairs": [["pizza", "tacos"]]}).json()[
        "probabilities"
    ]
    np.testing.assert_allclose(nobody, mm.predict(DISHES.model, None, [("pizza", "tacos")])[0])


def test_the_model_and_the_crowd(client):
    model = client.get("/api/v1/model").json()
    assert [taste["share"] for taste in model["tastes"]] == sorted(DISHES.model.share, reverse=True)
    for taste in model["tastes"]:
        k, told = taste["component"] - 1, taste["telling"]
        i, j = (DISHES.model.item_number(told[side]) for side in ("winner", "loser"))
        beta = DISHES.model.beta()[:, i, j]
        assert told["here"] == pytest.approx(beta[k]) and beta[k] == max(beta)
    crowd = client.get("/api/v1/crowd").json()
    theta = mm.weights(DISHES.model, DISHES.comparisons)
    order = [number - 1 for number in crowd["components"]]
    assert crowd["total"] == 60
    np.testing.assert_allclose(crowd["weights"], theta[:, order], atol=1e-4)
    one = client.get("/api/v1/crowd/choices", params={"person": crowd["people"][0]}).json()[
        "choices"
    ]
    assert sum(choice["times"] for choice in one) == 30
    # no participant
    assert client.get("/api/v1/crowd/choices", params={"person": "p000001"}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("weights", {"choices": [{"winner": "x", "loser": "pizza"}]}, "no item 'x'"),
        ("weights", {"choices": [{"winner": "pizza", "loser": "pizza"}]}, "compared with itself"),
        ("predict", {"pairs": [["pizza"]]}, "at least 2 items"),
        ("predict", {"pairs": [["pizza", "x"]]}, "no item 'x'"),
        ("predict", {"pairs": []}, "at least 1 item"),
        ("weights", {"choices": [], "more": 1}, "Extra inputs"),
        (
            "weights",
            {"choices": [{"winner": "pizza", "loser": "tacos", "times": -1}]},
            "greater than 0",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(client, path, body, words):
    said = client.post(f"/api/v1/{path}", json=body)
    assert said.status_code == 422 and words in said.json()["detail"]


# ---- from nothing ----


@pytest.mark.slow
def test_a_survey_from_nothing_learns_while_it_runs(tmp_path):
    """Planted people answer; the model is fitted in the background, and the page turns from even
    pairs to telling ones.
    """
    model, people = DISHES.model, 30
    with serving(
        tmp_path,
        None,
        [str(item) for item in model.items],
        refit_votes=600,
        n_components=2,
        questions=30,
    ) as client:
        assert client.get("/api/v1/model").json()["version"] is None
        assert client.post("/api/v1/weights", json={"choices": []}).status_code == 409
        early = None
        for m in range(people):
            headers, _ = begin(client)
            early = early or headers
            theta = DISHES.theta[m]
            for n in range(20):
                q = client.get("/api/v1/next-pair", headers=headers).json()
                chance = model.probability(theta[None], q["first"]["name"], q["second"]["name"])
                choice = "first" if np.ravel(chance)[0] > 0.5 else "second"
                vote = {
                    "key": f"key-{n:05d}",
                    "first": q["first"]["id"],
                    "second": q["second"]["id"],
                    "choice": choice,
                }
                assert client.post("/api/v1/votes", headers=headers, json=vote).status_code == 200
        assert client.get("/api/v1/me/result", headers=early).json()["answered"] == 20
        end = time.monotonic() + 1200
        while client.get("/api/v1/health").json()["model"] is None and time.monotonic() < end:
            time.sleep(0.2)
        grown = client.get("/api/v1/model").json()
        assert grown["version"] == 1 and len(grown["tastes"]) == 2
        assert grown["growth"][0]["votes"] == 600 and grown["growth"][0]["people"] == people
        result = client.get("/api/v1/me/result", headers=early).json()
        assert result["fitted"] and len(result["ranking"]) == 16
        assert client.get("/api/v1/next-pair?more=true", headers=early).json()["information"] > 0
    with serving(tmp_path, None) as client:  # a restart finds the model with the votes
        assert client.get("/api/v1/health").json() | {"version": ""} == {
            "status": "ok",
            "version": "",
            "api": 1,
            "votes": 600,
            "model": 1,
            "fitting": False,
        }
        assert client.get("/api/v1/model").json()["tastes"] == grown["tastes"]


# ---- admin ----


def test_admin_needs_the_token_and_its_forms_a_csrf_token(tmp_path):
    with serving(tmp_path) as client:
        assert "Token" in client.get("/admin").text and "answers" not in client.get("/admin").text
        for path in ("/admin/votes.csv", "/admin/votes.parquet"):
            assert client.get(path).status_code == 401
            assert (
                client.get(path, headers={"Authorization": "Bearer wrong-wrong-wrong"}).status_code
                == 401
            )
            assert client.get(path, params={"token": TOKEN}).status_code == 401  # never in a URL
        assert client.post("/admin/refit").status_code == 401
        assert client.post("/admin/login", data={"token": "wrong-wrong-wrong"}).status_code == 401
        page = client.post("/admin/login", data={"token": TOKEN})
        assert (
            page.url.path == "/admin" and "Learn again now" in page.text and TOKEN not in page.text
        )
        assert client.post("/admin/items", data={"name": "haggis"}).status_code == 403
        assert (
            client.post("/admin/items", data={"name": "haggis", "csrf": "0" * 64}).status_code
            == 403
        )
        csrf = page.text.split('name="csrf" value="')[1].split('"')[0]
        foreign = {"Origin": "https://evil.example"}
        assert (
            client.post(
                "/admin/items", data={"name": "haggis", "csrf": csrf}, headers=foreign
            ).status_code
            == 403
        )
        assert "haggis" not in [item["name"] for item in client.get("/api/v1/items").json()]
        assert (
            "The item was added."
            in client.post("/admin/items", data={"name": " haggis ", "csrf": csrf}).text
        )
        names = {item["name"]: item["id"] for item in client.get("/api/v1/items").json()}
        retire = {"status": "retired", "csrf": csrf}
        assert client.post(f"/admin/items/{names['haggis']}", data=retire).status_code == 200
        assert "haggis" not in [item["name"] for item in client.get("/api/v1/items").json()]
        client.post("/admin/logout", data={"csrf": csrf})
        assert client.post("/admin/items", data={"name": "stew", "csrf": csrf}).status_code == 401


def test_guessing_the_admin_token_is_slowed_down(tmp_path, monkeypatch):
    from mallowmix.web import admin
    from mallowmix.web.rate_limits import Rates

    monkeypatch.setattr(admin, "_tries", Rates(rate=0.2, burst=5))
    with serving(tmp_path) as client:
        said = [
            client.post("/admin/login", data={"token": f"guess-number-{n}"}).status_code
            for n in range(8)
        ]
        assert said == [401] * 5 + [429] * 3
        # whoever guesses must not lock the admin out
        assert client.post("/admin/login", data={"token": TOKEN}).status_code == 200


def test_without_a_token_there_is_no_admin(tmp_path):
    with serving(tmp_path, admin_token=None) as client:
        assert client.get("/admin").status_code == 404
        assert client.post("/admin/login", data={"token": ""}).status_code == 404
        assert (
            client.get("/admin/votes.csv", headers={"Authorization": "Bearer "}).status_code == 404
        )


@pytest.mark.slow
def test_exports_read_back_as_comparisons(tmp_path):
    with serving(tmp_path) as client:
        headers, _ = begin(client)
        answer_all(client, headers, n=5)
        answer_all(client, begin(client)[0], choice="skip", n=2)
        table = pq.read_table(
            io.BytesIO(client.get("/admin/votes.parquet", headers=BEARER).content)
        )
        (tmp_path / "votes.csv").write_bytes(client.get("/admin/votes.csv", headers=BEARER).content)
        assert mm.read_comparisons(table) == mm.read_comparisons(tmp_path / "votes.csv")
        assert (
            mm.read_comparisons(table).n_comparisons == 5
            and mm.read_comparisons(table).n_users == 1
        )


@pytest.mark.slow
def test_proposals_wait_for_an_admin(tmp_path):
    with serving(tmp_path) as client:
        headers, _ = begin(client)
        assert (
            client.post("/api/v1/items", headers=headers, json={"name": "haggis"}).status_code
            == 202
        )
        assert (
            client.post("/api/v1/items", headers=headers, json={"name": "haggis"}).status_code
            == 409
        )
        assert (
            client.post(
                "/api/v1/items", headers=headers, json={"name": "bad\u202ename"}
            ).status_code
            == 422
        )
        assert "haggis" not in [item["name"] for item in client.get("/api/v1/items").json()]
        site = client.app.state.site
        number = site.item_named("haggis").id
        vote = {"key": "too-early-", "first": 1, "second": number, "choice": "first"}
        assert client.post("/api/v1/votes", headers=headers, json=vote).status_code == 404
        client.post(f"/admin/items/{number}", data={"status": "active"}, headers=BEARER)
        assert "haggis" in [item["name"] for item in client.get("/api/v1/items").json()]
        asked = answer_all(client, headers, n=12)
        assert any(number in (q["first"]["id"], q["second"]["id"]) for q in asked)
    with serving(tmp_path, propose=False) as client:
        assert (
            client.post(
                "/api/v1/items", headers=begin(client)[0], json={"name": "stew"}
            ).status_code
            == 403
        )


# ---- events ----


def test_events_tell_of_votes_and_fits(tmp_path):
    """The stream as a listener gets it, driven without a network: what was last said, then what is
    said.
    """
    import asyncio

    from mallowmix.web.events import Hub

    async def heard():
        hub = Hub()
        hub.start()
        hub.publish("votes", {"votes": 1})
        await asyncio.sleep(0)  # delivered, to nobody yet
        listener = hub.messages(hub.join("192.0.2.1"))
        first = [await anext(listener), await anext(listener)]
        hub.publish("fit", {"state": "running", "step": "a\nb"})
        first.append(await anext(listener))
        hub.stop()
        return first, [line async for line in listener]

    first, rest = asyncio.run(heard())
    assert first[0].startswith("retry:") and first[1] == 'event: votes\ndata: {"votes": 1}\n\n'
    assert first[2] == 'event: fit\ndata: {"state": "running", "step": "a\\nb"}\n\n' and rest == []


def test_listeners_that_come_at_once_do_not_pass_the_limit():
    """All of them ask before the first gets anything: none beyond the limit is let in."""
    import asyncio

    from starlette.requests import Request

    from mallowmix.web.api import events
    from mallowmix.web.events import MOST_LISTENERS, MOST_OF_ONE, EventStream, Hub

    class OneSite:
        def __init__(self):
            self.hub = Hub()

    async def answered(site, address):
        scope = {"type": "http", "headers": [], "client": (address, 1)}
        try:
            return await events(Request(scope), site)
        except HTTPException as error:
            return error.status_code

    async def burst(addresses):
        site = OneSite()
        site.hub.start()
        answers = await asyncio.gather(*(answered(site, address) for address in addresses))
        streams = [each for each in answers if isinstance(each, EventStream)]

        async def gone():
            return {"type": "http.disconnect"}

        async def send(_message):
            raise OSError("the line is closed")

        for stream in streams:  # every line is closed before the first message
            with contextlib.suppress(BaseException):
                await stream({"type": "http", "asgi": {"spec_version": "2.0"}}, gone, send)
        again = await answered(site, addresses[0])
        refused = [each for each in answers if not isinstance(each, EventStream)]
        return len(streams), set(refused), isinstance(again, EventStream)

    of_one = asyncio.run(burst(["192.0.2.1"] * (2 * MOST_LISTENERS)))
    assert of_one == (MOST_OF_ONE, {429}, True)
    of_all = asyncio.run(burst([f"192.0.2.{n // 4}" for n in range(2 * MOST_LISTENERS)]))
    assert of_all == (MOST_LISTENERS, {503}, True)


@pytest.mark.slow
def test_the_pages_are_there_and_ask_for_nothing_from_elsewhere(client):
    for path in ("/", "/survey", "/me", "/explore", "/api", "/r/" + "x" * 24):
        page = client.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 200, path
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy and "http" not in policy
        assert "//" not in page.text.replace("http://www.w3.org", "").replace("</", ""), path
        assert (
            " style=" not in page.text
            and "onclick" not in page.text
            and "<script>" not in page.text
        )
    missing = client.get("/nowhere", headers={"Accept": "text/html"})
    assert missing.status_code == 404 and "That did not work" in missing.text
    assert (
        client.get("/static/").status_code == 404
        and client.get("/static/../app.py").status_code == 404
    )
    assert isinstance(client.get("/api/openapi.json").json()["paths"], dict)
