"""What a survey shows before it has a model, pictures and names of items, names of components."""

import struct
import zlib

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError, FileError
from mallowmix.web.early_results import others_chose, win_counts
from mallowmix.web.item_pictures import read_shown_items, with_labels
from mallowmix.web.vote_store import Item
from tests.command_line import run
from tests.test_web_api import BEARER, DISHES, begin, serving


def dot():
    """A picture of one pixel, as PNG."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    rest = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + rest


ITEMS = {n: Item(n, name, "active") for n, name in enumerate(("tea", "milk", "juice"), 1)}


def test_win_counts_and_what_others_chose_by_hand():
    pairs = {(1, 2): (3, 1), (1, 3): (0, 2), (2, 3): (1, 0)}
    found = [(row.item, row.wins, row.of) for row in win_counts(pairs, ITEMS)]
    assert found == [("juice", 2, 3), ("tea", 3, 6), ("milk", 2, 5)]
    answers = np.array([[1, 2, 1], [1, 3, -1], [2, 3, 1], [1, 2, 0]])
    rows = [(row.chosen, row.over, row.same, row.of) for row in others_chose(answers, pairs, ITEMS)]
    # the third was answered by nobody else, the last was not decided
    assert sorted(rows) == [("juice", "tea", 1, 1), ("tea", "milk", 2, 3)]


def test_early_visitors_see_win_counts_and_what_others_chose(tmp_path):
    with serving(tmp_path, None, ["tea", "milk"], refit_votes=0) as client:
        headers = None
        for n in range(3):
            headers, _ = begin(client)
            asked = client.get("/api/v1/next-pair", headers=headers).json()
            tea = "first" if asked["first"]["name"] == "tea" else "second"
            milk = "second" if tea == "first" else "first"
            numbers = {side: asked[side]["id"] for side in ("first", "second")}
            vote = numbers | {"key": f"key-{n:05d}", "choice": milk if n == 0 else tea}
            assert client.post("/api/v1/votes", headers=headers, json=vote).status_code == 200
        result = client.get("/api/v1/me/result", headers=headers).json()
        assert not result["fitted"] and result["mixture"] == []
        assert result["others"] == [{"chosen": "tea", "over": "milk", "same": 1, "of": 2}]
        counts = [{"item": "tea", "wins": 2, "of": 3}, {"item": "milk", "wins": 1, "of": 3}]
        assert result["so_far"] == counts == client.get("/api/v1/model").json()["so_far"]


def test_names_of_components_are_on_the_pages(tmp_path):
    from mallowmix.model.fitted_model import as_fitted

    model = as_fitted(DISHES.model).named({1: "comfort", 2: "<b>fresh</b>"})
    with serving(tmp_path, model, crowd=DISHES.comparisons) as client:
        tastes = client.get("/api/v1/model").json()["tastes"]
        named = {taste["component"]: taste["name"] for taste in tastes}
        assert named == {1: "comfort", 2: "<b>fresh</b>", 3: ""}
        crowd = client.get("/api/v1/crowd").json()
        assert [named[k] for k in crowd["components"]] == crowd["names"]
        headers, _ = begin(client)
        mixture = client.get("/api/v1/me/result", headers=headers).json()["mixture"]
        assert {row["component"]: row["name"] for row in mixture} == named
        page = client.get("/admin", headers=BEARER).text
        assert "Taste 1: <bdi>comfort</bdi>" in page and "&lt;b&gt;fresh" in page


def test_what_divides_people_shows_every_component(tmp_path):
    with serving(tmp_path) as client:
        found = client.get("/api/v1/model").json()
    order, beta = [taste["component"] - 1 for taste in found["tastes"]], DISHES.model.beta()
    assert 4 <= len(found["pairs"]) <= 6
    for pair in found["pairs"]:
        i, j = (DISHES.model.item_number(pair[side]) for side in ("item", "other"))
        assert pair["tastes"] == pytest.approx(beta[order, i, j])
    named = [pair[side] for pair in found["pairs"] for side in ("item", "other")]
    assert max(named.count(name) for name in named) <= 2


def test_a_taste_is_singled_out_only_where_it_alone_chooses_so():
    from mallowmix.web.prepared_answers import ServedModel

    alike = mm.M4.from_orders([list("abcd"), list("abdc"), list("abdc")], phi=0.3)
    one, two, three = ServedModel(0, alike).tastes
    assert one["telling"]["winner"] == "c" and one["telling"]["loser"] == "d"
    assert two["telling"] is None and three["telling"] is None
    assert set(one["differing"]) == {"c", "d"}


def names_file(folder, picture):
    (folder / "names.csv").write_text(
        f'id,label,description,picture\n1,"Tea, black",without milk,{picture}\n2,Milk,,\n'
    )
    return folder / "names.csv"


def test_pictures_and_descriptions_of_items(tmp_path):
    (tmp_path / "tea.png").write_bytes(dot())
    names = read_shown_items(names_file(tmp_path, "tea.png"))
    details = {each.label: each for each in names.values()}
    from fastapi.testclient import TestClient

    from mallowmix.web.application import create_app
    from mallowmix.web.settings import Settings
    from mallowmix.web.site import Site

    labels = with_labels(["1", "2", "3"], names)
    assert labels == ["Tea, black", "Milk", "3"] == with_labels(labels, names)
    settings = Settings(rate=0.0)
    site = Site(str(tmp_path / "votes.db"), settings, names=labels, details=details)
    with TestClient(create_app(site)) as client:
        tea, milk, _ = client.get("/api/v1/items").json()
        assert tea["description"] == "without milk" and milk["picture"] is None
        shown = client.get(tea["picture"])
        assert shown.content == dot() and shown.headers["content-type"] == "image/png"
        assert shown.headers["x-content-type-options"] == "nosniff"
        for number in (milk["id"], 99):
            assert client.get(f"/pictures/{number}").status_code == 404


@pytest.mark.parametrize(
    ("picture", "kind", "said"),
    [
        ("https://example.org/tea.png", DataError, "is on another server"),
        ("../tea.png", DataError, "is not in the folder of the file"),
        ("tea.svg", DataError, "must end in .png"),
        ("milk.png", FileError, "there is no picture milk.png of '1'"),
    ],
)
def test_pictures_that_cannot_be_shown_are_refused(tmp_path, picture, kind, said):
    with pytest.raises(kind, match=said):
        read_shown_items(names_file(tmp_path, picture))


def test_serve_takes_names_and_says_what_proposals_lack(tmp_path, monkeypatch):
    monkeypatch.delenv("MALLOWMIX_ADMIN_TOKEN", raising=False)
    words = ("--votes", tmp_path / "v.db", "--check")
    names = names_file(tmp_path, "")
    out, said = run("serve", "--item-names", names, "--propose", *words)
    assert "2 items, no model yet" in out
    assert (
        "Proposals wait until an admin lets them in, and there is none: give --admin-token" in said
    )
    _, said = run("serve", "--item-names", names, "--propose", *words, "--admin-token", "x" * 12)
    assert "Proposals" not in said
