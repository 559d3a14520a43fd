"""What goes wrong around a server: refits that fail or hang, files that vanish, damaged models."""

import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

import mallowmix as mm
from mallowmix.engine.isolated_python import isolated_command, safe_path
from mallowmix.errors import MallowmixError
from mallowmix.model.model_file import dumps
from mallowmix.web import refit_process, vote_store
from mallowmix.web.application import create_app
from mallowmix.web.connections import shown
from mallowmix.web.refit_process import RefitFailed, RefitProcess
from mallowmix.web.schema import models
from mallowmix.web.settings import Settings
from mallowmix.web.site import Site
from mallowmix.web.vote_store import Store
from mallowmix.web.worker import refit
from mallowmix.web.writer import Vote

MODEL = mm.M4.from_orders([list("abcdef"), list("fedcba")], phi=0.3)
TOKEN = "the-admin's-token"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
VOTE = {"key": "key-00001", "first": 1, "second": 2, "choice": "first"}


def opened(folder, model=MODEL, names=None, **settings):
    options = {"admin_token": TOKEN, "rate": 0.0, "nice": 0, "propose": True} | settings
    return Site(str(folder / "votes.db"), Settings(**options), model=model, names=names)


def begin(client):
    told = client.post("/api/v1/people", json={"token": True}).json()
    client.cookies.clear()
    return {"Authorization": f"Bearer {told['token']}"}, int(told["person"][1:])


# ---- the process that learns ----


@pytest.mark.slow
def test_our_own_processes_run_no_file_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("secrets", "json", "numpy", "runpy", "mallowmix"):
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w')\n")
    for entry in ("", str(tmp_path)):
        monkeypatch.setattr(sys, "path", [entry, *sys.path])
    monkeypatch.setenv("PYTHONPATH", f":{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(RefitFailed, match="without an answer"):
        RefitProcess({"database": "none.db", "components": 1, "nice": 0}, 600).run(lambda _: None)
    assert not (tmp_path / "was_run").exists()
    assert str(tmp_path) not in safe_path() and "" not in safe_path()
    assert isolated_command("x", ["y"])[-2:] == ["x", "y"]


def module_of(folder, monkeypatch, text):
    """The name of a module that stands where the worker's does."""
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "broken_worker.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder / "elsewhere"))
    return "broken_worker"


@pytest.mark.slow
def test_a_worker_that_hangs_is_ended(tmp_path, monkeypatch):
    text = 'import time; print(\'{"step": "x"}\', flush=True); time.sleep(3600)'
    module = module_of(tmp_path, monkeypatch, text)
    with pytest.raises(RefitFailed, match=r"was ended: it ran longer than 0\.05 minutes"):
        RefitProcess({}, 3.0, module).run(lambda _: None)


def test_last_words_reach_the_log_and_the_admin_page_and_votes_stay_unlearnt(
    tmp_path, monkeypatch, caplog
):
    module = module_of(tmp_path, monkeypatch, "raise MemoryError('no room <here>')")
    monkeypatch.setattr(refit_process.RefitProcess.__init__, "__defaults__", (module,))
    with TestClient(create_app(opened(tmp_path, refit_votes=1))) as client:
        refitter = client.app.state.site.refitter
        headers, _ = begin(client)
        with caplog.at_level(logging.ERROR, "mallowmix.web"):
            assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
            end = time.monotonic() + 120
            while not refitter.failed and time.monotonic() < end:
                time.sleep(0.05)
        assert "ended without an answer" in refitter.failed and refitter.new == 1
        assert "MemoryError: no room <here>" in caplog.text
        page = client.get("/admin", headers=ADMIN).text
        assert "no room &lt;here&gt;" in page and "1 not learnt yet" in page
        assert not refitter.due()  # not at once, again and again
        refitter._not_before = 0.0
        assert refitter.due()


def test_after_a_restart_unlearnt_votes_are_new_again(tmp_path):
    names = list("abcdef")
    with TestClient(create_app(opened(tmp_path, None, names))) as client:
        site = client.app.state.site
        headers, first = begin(client)
        for n, (low, high) in enumerate([(1, 2), (1, 3), (2, 3)]):
            site.store.writer.submit(Vote(first, f"key-{n:05d}", low, high, 1, 0)).result()
        _, second = begin(client)
        site.store.writer.submit(Vote(second, "key-00001", 1, 2, 0, 0)).result()  # not decided
    site = opened(tmp_path, None, names)
    assert site.refitter.new == 3
    keep(site.store, refit(str(tmp_path / "votes.db"), 1))
    site.close()
    site = opened(tmp_path, None, names)
    assert site.fitted.version == 1 and site.refitter.new == 0
    site.store.writer.submit(Vote(second, "key-00002", 2, 3, 1, 0)).result()
    site.close()
    with TestClient(create_app(opened(tmp_path, None, names))) as client:
        assert client.app.state.site.refitter.new == 1
        client.delete("/api/v1/me", headers=headers)
    site = opened(tmp_path, None, names)
    assert site.refitter.new == 1 + 3  # one to learn, three to forget
    site.close()


def keep(store, outcome):
    import base64

    data = base64.b64decode(outcome.pop("model"))
    row = models.insert().values(created=0.0, data=data, **outcome)
    store.writer.submit(lambda connection: connection.execute(row).rowcount).result()


# ---- the database ----


@pytest.mark.parametrize("way", ["deleted", "replaced", "log deleted"])
def test_votes_are_refused_while_their_file_is_gone(tmp_path, way):
    path = tmp_path / "votes.db"
    with TestClient(create_app(opened(tmp_path))) as client:
        headers, _ = begin(client)
        assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
        gone = tmp_path / ("votes.db-wal" if way == "log deleted" else "votes.db")
        kept = gone.rename(tmp_path / "kept")
        if way == "replaced":
            shutil.copy(kept, path)
        for n in range(3):
            late = VOTE | {"key": f"late-vote-{n}", "second": 3 + n}
            said = client.post("/api/v1/votes", headers=headers, json=late)
            assert said.status_code == 503 and "retry-after" in said.headers
        health = client.get("/api/v1/health")
        assert health.status_code == 503 and health.json()["status"] == "degraded"
        assert "deleted or replaced" in health.json()["problem"]
        assert path.exists() == (way != "deleted")  # no empty file in its place
        kept.replace(gone)
        assert client.get("/api/v1/health").json()["status"] == "ok"
        assert client.post("/api/v1/votes", headers=headers, json=late).status_code == 200
        assert client.app.state.site.store.counts()["votes"] == 2


def other_file(folder, way):
    """What a file of votes is overwritten with: nothing, another database, votes of others."""
    folder.mkdir()
    path = folder / "votes.db"
    if way == "emptied":
        path.touch()
    elif way == "other votes":
        opened(folder).close()
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.commit()
    return path


def copied(source, target):
    """Copy into a file that keeps its inode, in a process of its own.

    Where this process closed the file, it would lose SQLite's locks on it.
    """
    subprocess.run(["cp", source, target], check=True)


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("way", ["emptied", "another database", "other votes"])
def test_votes_are_refused_while_their_file_is_overwritten(tmp_path, way, checkpoint):
    """It keeps its inode. Put back in place it is taken again, with all its votes."""
    path, other = tmp_path / "votes.db", other_file(tmp_path / "other", way)
    with TestClient(create_app(opened(tmp_path))) as client:
        store = client.app.state.site.store
        headers, _ = begin(client)
        assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
        if checkpoint:
            store.checkpoint()
        copied(path, tmp_path / "kept")
        copied(other, path)
        for n in range(3):
            late = VOTE | {"key": f"late-vote-{n}", "second": 3 + n}
            said = client.post("/api/v1/votes", headers=headers, json=late)
            assert said.status_code == 503 and "retry-after" in said.headers
        assert client.get("/api/v1/health").status_code == 503
        assert subprocess.run(["cmp", path, other], check=False).returncode == 0  # as it was put
        copied(tmp_path / "kept", path)
        assert client.get("/api/v1/health").json()["status"] == "ok"
        assert client.post("/api/v1/votes", headers=headers, json=late).status_code == 200
        assert store.counts()["votes"] == 2
    assert vote_count(path) == 2


def test_a_file_that_another_program_changes_by_rule_is_still_ours(tmp_path):
    """A query tool that writes into the database, and moves the log into it, does no harm."""
    path = tmp_path / "votes.db"
    with TestClient(create_app(opened(tmp_path))) as client:
        headers, _ = begin(client)
        assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO meta (key, value) VALUES ('note', 'x')")
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        late = VOTE | {"key": "late-vote-1", "second": 3}
        assert client.post("/api/v1/votes", headers=headers, json=late).status_code == 200
        assert client.get("/api/v1/health").json()["status"] == "ok"
    assert vote_count(path) == 2


def vote_count(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT COUNT(*) FROM votes").fetchone()[0]


def test_a_damaged_model_in_the_database_does_not_stop_the_server(tmp_path, caplog):
    site = opened(tmp_path)
    good, numbers = dumps(MODEL), {"created": 0.0, "last_vote": 0, "votes": 0, "people": 0}
    numbers |= {"components": 2, "seconds": 0.0, "predicted_of": 0}
    for data in (good, good[: len(good) // 2], b"", b"\0" * 100):
        row = models.insert().values(data=data, **numbers)
        site.store.writer.submit(lambda connection, row=row: connection.execute(row)).result()
    site.close()
    with caplog.at_level(logging.ERROR, "mallowmix.web"):
        site = opened(tmp_path, None)
    assert site.fitted.version == 1 and caplog.text.count("is damaged") == 3
    site.store.writer.submit(lambda c: c.execute(models.update().values(data=b"x"))).result()
    site.close()
    site = opened(tmp_path)  # none is left: the model that was given
    assert site.fitted.version == 0
    site.close()


def test_the_votes_are_nobody_elses_to_read(tmp_path):
    old = os.umask(0)
    try:
        site = opened(tmp_path)
    finally:
        os.umask(old)
    for file in tmp_path.glob("votes.db*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    site.close()


def test_a_database_server_that_starts_is_waited_for(tmp_path, monkeypatch, caplog):
    store, tries = Store(str(tmp_path / "votes.db")), []

    class Starting(Exception):
        sqlstate = "57P03"

    def call():
        tries.append(1)
        if len(tries) < 3:
            raise sa.exc.OperationalError("", {}, Starting("the database system is starting up"))
        return b"ready"

    monkeypatch.setattr(vote_store.time, "sleep", lambda seconds: None)
    with caplog.at_level(logging.WARNING, "mallowmix.web"):
        assert vote_store._when_ready(call, 600, "postgresql://x") == b"ready"
    assert len(tries) == 3 and caplog.text.count("does not answer yet") == 2
    tries.clear()
    Starting.sqlstate = "28P01"  # a wrong password does not become right
    with pytest.raises(sa.exc.OperationalError):
        vote_store._when_ready(call, 600, "postgresql://x")
    assert len(tries) == 1
    store.close()


def test_a_deleted_person_takes_their_proposals_with_them(tmp_path):
    with TestClient(create_app(opened(tmp_path))) as client:
        site = client.app.state.site
        headers, _ = begin(client)
        others, _ = begin(client)
        for name in ("a private word", "haggis", "turned down"):
            client.post("/api/v1/items", headers=headers, json={"name": name})
        number = site.item_named("haggis").id
        client.post(f"/admin/items/{number}", data={"status": "active"}, headers=ADMIN)
        rejected = site.item_named("turned down").id
        client.post(f"/admin/items/{rejected}", data={"status": "rejected"}, headers=ADMIN)
        client.post("/api/v1/items", headers=others, json={"name": "somebody else's"})
        vote = VOTE | {"second": number}
        assert client.post("/api/v1/votes", headers=others, json=vote).status_code == 200
        assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
        assert client.delete("/api/v1/me", headers=headers).status_code == 204
        assert site.item_named("a private word") is None
        assert site.item_named("turned down") is None
        assert site.item_named("haggis").by is None and site.item_named("somebody else's").by
        assert site.store.counts()["votes"] == 1
        # nothing of it is left on the disk: the log is empty, and the pages were overwritten
        assert (tmp_path / "votes.db-wal").stat().st_size == 0
        assert b"a private word" not in (tmp_path / "votes.db").read_bytes()


# ---- the clock ----

YEAR = 365 * 24 * 3600


@pytest.mark.parametrize("jump", [-10 * YEAR, 10 * YEAR])
def test_a_clock_that_jumps_loses_no_vote_no_session_and_no_model(tmp_path, monkeypatch, jump):
    clock = time.time
    with TestClient(create_app(opened(tmp_path))) as client:
        headers, _ = begin(client)
        assert client.post("/api/v1/votes", headers=headers, json=VOTE).status_code == 200
        monkeypatch.setattr(time, "time", lambda: clock() + jump)
        late = VOTE | {"key": "key-00002", "second": 3}
        for _ in range(2):  # the second is the same again, and is not stored again
            assert client.post("/api/v1/votes", headers=headers, json=late).status_code == 200
        assert client.get("/api/v1/me", headers=headers).status_code == 200
        assert client.app.state.site.store.counts()["votes"] == 2
    for components in (1, 2):  # the newest model is the last one, whatever its date
        site = opened(tmp_path, None)
        keep(site.store, refit(str(tmp_path / "votes.db"), components))
        site.close()
        monkeypatch.setattr(time, "time", lambda: clock() - jump)
    site = opened(tmp_path, None)
    assert site.fitted.version == 2 and site.store.counts()["votes"] == 2
    site.close()


def test_people_who_began_while_the_clock_was_wrong_keep_nobody_out(tmp_path, monkeypatch):
    clock = time.time
    with TestClient(create_app(opened(tmp_path, people_per_address=2))) as client:
        monkeypatch.setattr(time, "time", lambda: clock() + YEAR)
        codes = [client.post("/api/v1/people", json={"token": True}).status_code for _ in range(3)]
        assert codes[0] == codes[1] < 300 and codes[2] == 429
        monkeypatch.undo()
        again = client.post("/api/v1/people", json={"token": True}).status_code
        assert again == codes[0]


def test_passwords_in_a_query_are_masked():
    for text in (
        "postgresql://me@host/votes?password=hidden",
        "postgresql://me:hidden@host/votes?sslmode=require&sslpassword=hidden",
        "postgresql:///votes?user=me&password=hidden&host=x",
    ):
        assert "hidden" not in shown(vote_store.database_url(text))
        with pytest.raises(MallowmixError) as told:
            mm.read_comparisons(text.replace("postgresql", "mysql"))
        assert "hidden" not in str(told.value)
