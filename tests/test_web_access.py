"""Whom the server believes: proxies, origins, cookies, admin tokens, invitations, addresses."""

import csv
import io

import pytest
from fastapi.testclient import TestClient

import mallowmix as mm
from mallowmix.errors import OptionError
from mallowmix.web.application import create_app
from mallowmix.web.participants import new_invitation
from mallowmix.web.settings import Settings, allowed_hosts
from mallowmix.web.site import Site
from tests.command_line import run
from tests.web_process import ScriptedServer

MODEL = mm.M4.from_orders([list("abcdef"), list("fedcba")], phi=0.3)
TOKEN = "the-admin's-token"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
PUBLIC = "https://survey.example.org"


def serving(folder, base_url="http://testserver", **settings):
    options = {"admin_token": TOKEN, "rate": 0.0} | settings
    site = Site(str(folder / "votes.db"), Settings(**options), model=MODEL)
    return TestClient(create_app(site), base_url=base_url)


# ---- proxies ----

BEGIN = "POST /api/v1/people HTTP/1.1\nX-Forwarded-For: 203.0.113.{}"


@pytest.mark.slow
def test_forwarded_addresses_are_believed_from_a_trusted_proxy_alone(tmp_path):
    """Five participants who say that they come from five addresses, where three may begin."""
    for trusted, expected in (("()", [201] * 3 + [429] * 2), ("('127.0.0.1',)", [201] * 5)):
        folder = tmp_path / str(len(trusted))
        folder.mkdir()
        options = f"people_per_address=3, trusted_proxies={trusted}"
        with ScriptedServer(folder, options) as running:
            assert [running.ask(BEGIN.format(n), b"{}")[0] for n in range(5)] == expected
            # who forgets the option is told
            assert ("--trusted-proxy" in running.said()) == (trusted == "()")


def test_behind_tls_cookies_are_secure_and_only_our_own_pages_may_write(tmp_path):
    hosts = allowed_hosts("127.0.0.1", PUBLIC)
    with serving(tmp_path, PUBLIC, public_url=PUBLIC + "/", hosts=hosts) as client:
        told = client.post("/api/v1/people", json={}, headers={"Origin": PUBLIC})
        assert told.status_code == 201 and "Secure" in told.headers["set-cookie"]
        right = {"X-CSRF-Token": told.json()["csrf"]}
        for origin in ("http://survey.example.org", PUBLIC + ":444", "https://evil.example"):
            said = client.delete("/api/v1/me", headers=right | {"Origin": origin})
            assert said.status_code == 403
        assert client.get("/api/v1/me", headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/api/v1/health", headers={"Host": "127.0.0.1:8000"}).status_code == 200
        assert client.delete("/api/v1/me", headers=right | {"Origin": PUBLIC}).status_code == 204
        page = client.post(
            "/admin/login",
            data={"token": TOKEN},
            headers={"Origin": PUBLIC},
            follow_redirects=False,
        )
        assert page.status_code == 303 and "Secure" in page.headers["set-cookie"]
        assert "Secure" in note_of(client)
    with serving(tmp_path) as client:  # without TLS, a Secure cookie would never come back
        assert "Secure" not in client.post("/api/v1/people", json={}).headers["set-cookie"]
        assert "Secure" not in note_of(client)


def note_of(client):
    """The cookie with what the admin's page says next."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    said = client.post("/admin/items", data={"name": "tea"}, headers=bearer, follow_redirects=False)
    assert said.status_code == 303
    cookie = said.headers["set-cookie"]
    assert cookie.startswith("mallowmix_note=") and "HttpOnly" in cookie
    return cookie


@pytest.mark.parametrize(
    "url", ["survey.example.org", "ftp://x", "https://x/survey", "https://u:p@x", "https://x:0x"]
)
def test_public_urls_that_cannot_be(url):
    with pytest.raises(OptionError) as told:
        Settings(public_url=url)
    assert told.value.option == "public_url"


def test_origins_and_networks():
    assert Settings(public_url="HTTPS://Survey.Example.org:443/").origin == PUBLIC
    assert Settings(public_url="http://[2001:db8::1]:8000").origin == "http://[2001:db8::1]:8000"
    trusting = Settings(trusted_proxies=("10.0.0.0/8", "::1"))
    assert trusting.is_trusted("10.1.2.3") and trusting.is_trusted("::1")
    assert not trusting.is_trusted("11.1.2.3") and not trusting.is_trusted("testclient")
    with pytest.raises(OptionError) as told:
        Settings(trusted_proxies=("nginx",))
    assert told.value.option == "trusted_proxy"


def test_the_command_warns_of_what_is_open_to_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("a\nb\n", encoding="utf-8")
    words = ["serve", "--items", "items.csv", "--check"]
    assert run(*words)[1] == ""
    _, said = run(*words, "--host", "0.0.0.0")
    assert "there is no TLS" in said and "--public-url" in said and "--trusted-proxy" in said
    _, said = run(*words, "--host", "0.0.0.0", "--public-url", PUBLIC)
    assert "no TLS" not in said and "count as one address" in said
    whole = ["--public-url", PUBLIC, "--trusted-proxy", "127.0.0.1", "--trusted-proxy", "::1"]
    assert run(*words, "--host", "0.0.0.0", *whole)[1] == ""
    assert "neither an address nor a network" in run(*words, "--trusted-proxy", "x", code=2)[1]


# ---- who may write ----


def test_an_authorization_header_does_not_stand_for_a_csrf_token(tmp_path):
    with serving(tmp_path) as client:
        client.post("/api/v1/people", json={})
        for word in ("Basic eDp5", "Bearer", "Bearer ", "x"):
            for foreign in ({}, {"Origin": "https://evil.example"}):
                said = client.delete("/api/v1/me", headers={"Authorization": word} | foreign)
                assert said.status_code == 403, word
        assert client.get("/api/v1/me").json()["person"] is not None
        # a token that is nobody's does not fall back on the cookie
        wrong = {"Authorization": "Bearer made-up"}
        assert client.delete("/api/v1/me", headers=wrong).status_code == 401


@pytest.mark.slow
def test_the_right_admin_token_is_always_let_in(tmp_path):
    with serving(tmp_path) as client:
        right = [client.get("/admin/votes.csv", headers=ADMIN).status_code for _ in range(15)]
        assert right == [200] * 15
        guesses = [
            client.get("/admin/votes.csv", headers={"Authorization": f"Bearer guess-{n}"})
            for n in range(12)
        ]
        assert [said.status_code for said in guesses] == [401] * 10 + [429] * 2
        assert int(guesses[-1].headers["retry-after"]) >= 1
        assert client.get("/admin/votes.csv", headers=ADMIN).status_code == 200
        assert client.post("/admin/login", data={"token": TOKEN}).status_code == 200


# ---- whose votes ----


def test_one_address_may_begin_so_many_participants_in_a_day(tmp_path):
    for _ in range(2):  # a restart forgets nothing
        with serving(tmp_path, people_per_address=4) as client:
            said = []
            for _ in range(2):
                client.cookies.clear()
                said.append(client.post("/api/v1/people", json={}).status_code)
        assert said == [201] * 2
    with serving(tmp_path, people_per_address=4) as client:
        assert client.post("/api/v1/people", json={}).status_code == 429
    with serving(tmp_path, people_per_address=0) as client:
        assert client.post("/api/v1/people", json={}).status_code == 201


def seen_from(app, address):
    """The app, to which every request seems to come from an address."""

    async def answer(scope, receive, send):
        await app(scope | {"client": (address, 1)}, receive, send)

    return answer


def test_exports_say_which_participants_share_an_address(tmp_path):
    app = serving(tmp_path).app
    with TestClient(app) as client:
        for address in ("192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2"):
            one = TestClient(seen_from(app, address))
            token = one.post("/api/v1/people", json={"token": True}).json()["token"]
            me = {"Authorization": f"Bearer {token}"}
            vote = {"key": "the-only-vote", "first": 1, "second": 2, "choice": "first"}
            assert client.post("/api/v1/votes", headers=me, json=vote).status_code == 200
        text = client.get("/admin/votes.csv", headers=ADMIN).text
    origins = [row["origin"] for row in csv.DictReader(io.StringIO(text))]
    assert origins[0] == origins[1] != origins[2] == origins[3]
    assert "192.0.2" not in text and "2001" not in text
    (tmp_path / "votes.csv").write_text(text)
    assert mm.read_comparisons(tmp_path / "votes.csv").n_users == 4


@pytest.mark.slow
def test_invitation_links_are_good_for_one_participant_each(tmp_path):
    with serving(tmp_path, invitations=True) as client:
        links = client.post("/admin/invitations", data={"number": 3}, headers=ADMIN).text.split()
        assert len(set(links)) == 3 and all("/survey#" in link for link in links)
        codes = [link.partition("#")[2] for link in links]
        begin = lambda body: client.post("/api/v1/people", json=body).status_code  # noqa: E731
        assert begin({}) == 403
        made_up = codes[0][:-1] + ("A" if codes[0][-1] != "A" else "B")
        assert begin({"invitation": made_up}) == 403
        assert begin({"invitation": new_invitation(b"another server's secret")}) == 403
        assert begin({"invitation": codes[0]}) == 201
        assert begin({"invitation": codes[0]}) == 409
        assert begin({"invitation": codes[1]}) == 201
        assert client.post("/admin/invitations", data={"number": 1}).status_code in (401, 403)
    with serving(tmp_path, invitations=True) as client:  # a restart forgets nothing
        assert client.post("/api/v1/people", json={"invitation": codes[1]}).status_code == 409
        assert client.post("/api/v1/people", json={"invitation": codes[2]}).status_code == 201
