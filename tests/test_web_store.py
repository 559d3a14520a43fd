"""The database of votes: each once, none before its commit, upgraded by steps; SQLite and
PostgreSQL alike.
"""

import base64
import threading

import numpy as np
import pytest
import sqlalchemy as sa

from mallowmix.errors import FileError, OptionError
from mallowmix.model.model_file import loads
from mallowmix.web import vote_store
from mallowmix.web.connections import database_url, shown, sql_engine
from mallowmix.web.schema import VERSION, items, meta, migrate, models, people, version_of, votes
from mallowmix.web.vote_store import Store, comparisons_of_votes
from mallowmix.web.worker import _later_half, refit
from mallowmix.web.writer import CONFLICT, GONE, REPEATED, STORED, Vote
from tests.command_line import run


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A fresh database of either kind."""
    return (
        str(tmp_path / "votes.db")
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )


@pytest.fixture
def store(place):
    opened = Store(place)
    opened.add_items(["a", "b", "c"])
    yield opened
    opened.close()


def add_person(store, name="x"):
    def add(connection):
        return connection.execute(
            people.insert().values(token=name, link=name, created=0.0)
        ).inserted_primary_key[0]

    return store.writer.submit(add).result()


@pytest.mark.slow
def test_a_vote_counts_once_by_its_key_and_by_its_pair(store):
    person = add_person(store)
    write = lambda *vote: store.writer.submit(Vote(person, *vote, 0)).result()  # noqa: E731
    assert write("key-one-", 1, 2, 1) == STORED
    assert write("key-one-", 1, 2, 1) == REPEATED
    assert write("key-one-", 1, 2, -1) == CONFLICT  # the key with another answer
    assert write("key-two-", 1, 2, 1) == CONFLICT  # the pair with another key
    assert write("key-two-", 1, 3, 0) == STORED
    assert store.answers_of(person).tolist() == [[1, 2, 1], [1, 3, 0]]
    assert store.counts() == {"votes": 1, "skipped": 1, "people": 1}


def test_the_same_key_many_times_at_once_is_stored_once(store):
    person, answers = add_person(store), []
    waiting = [store.writer.submit(Vote(person, "same-key", 1, 2, 1, 0)) for _ in range(50)]
    answers = [each.result() for each in waiting]
    assert answers.count(STORED) == 1 and answers.count(REPEATED) == 49
    assert len(store.answers_of(person)) == 1


def test_votes_that_wait_share_a_commit(store):
    person, held = add_person(store), threading.Event()
    before = store.writer.commits
    blocked = store.writer.submit(lambda connection: held.wait(5))
    waiting = [
        store.writer.submit(Vote(person, f"key-{n:05d}", low, high, 1, 0))
        for n, (low, high) in enumerate([(1, 2), (1, 3)])
    ]
    held.set()
    assert blocked.result() and [each.result() for each in waiting] == [STORED, STORED]
    assert store.writer.commits - before <= 2


def test_a_vote_of_someone_deleted_spoils_nobody_elses(store):
    stays, goes = add_person(store, "stays"), add_person(store, "goes")
    store.writer.submit(Vote(goes, "key-00001", 1, 2, 1, 0)).result()
    store.writer.submit(
        lambda connection: connection.execute(people.delete().where(people.c.id == goes)).rowcount
    ).result()
    assert len(store.answers_of(goes)) == 0
    held = threading.Event()
    store.writer.submit(lambda connection: held.wait(5))
    first = store.writer.submit(Vote(stays, "key-00001", 1, 2, 1, 0))
    second = store.writer.submit(Vote(goes, "key-00002", 1, 3, 1, 0))
    third = store.writer.submit(Vote(stays, "key-00003", 2, 3, 1, 0))
    held.set()
    assert [first.result(), second.result(), third.result()] == [STORED, GONE, STORED]
    assert add_person(store, "later") > goes  # a number is never given again


def test_a_failed_write_is_told_and_the_next_one_works(store):
    with pytest.raises(sa.exc.DBAPIError):
        store.writer.submit(
            lambda connection: connection.execute(sa.text("SELECT * FROM nothing"))
        ).result()
    assert not store.writer.healthy
    assert store.writer.submit(Vote(add_person(store), "key-00001", 1, 2, 1, 0)).result() == STORED
    assert store.writer.healthy


def test_errors_show_no_values(store):
    """What reaches a log names the statement, never the token in it."""
    row = people.insert().values(token="a-secret-digest", link="x", created=None)
    with pytest.raises(sa.exc.IntegrityError) as told:
        store.writer.submit(lambda connection: connection.execute(row)).result()
    assert "INSERT INTO people" in str(told.value) and "parameters hidden" in str(told.value)
    # the server's own DETAIL line is its
    assert store.database.startswith("postgresql") or "a-secret-digest" not in str(told.value)


def test_rows_become_comparisons(store):
    person = add_person(store)
    for n, (low, high, choice) in enumerate([(1, 2, 1), (1, 3, -1), (2, 3, 0)]):
        store.writer.submit(Vote(person, f"key-{n:05d}", low, high, choice, 0)).result()
    rows, names = store.rows()
    found = comparisons_of_votes(rows, names).to_arrow().to_pylist()
    assert [(row["user"], row["winner"], row["loser"]) for row in found] == [
        ("p000001", "a", "b"),
        ("p000001", "c", "a"),
    ]
    assert store.pair_counts() == {(1, 2): 1, (1, 3): 1, (2, 3): 1}


def test_an_older_schema_is_upgraded_and_keeps_its_votes(place):
    engine = sql_engine(database_url(place), writing=True)
    with engine.begin() as connection:
        migrate(connection, upto=1)
        assert version_of(connection) == 1
        assert "model" not in {
            column["name"] for column in sa.inspect(connection).get_columns("votes")
        }
        connection.execute(
            items.insert(), [{"name": name, "status": "active", "created": 0.0} for name in "ab"]
        )
        connection.execute(people.insert().values(token="t", link="l", created=0.0))
        old = (
            "INSERT INTO votes (person, key, low, high, choice, created) VALUES (1, 'key-old-', "
            "1, 2, 1, 0)"
        )
        connection.execute(sa.text(old))
    engine.dispose()
    store = Store(place)
    assert store.answers_of(1).tolist() == [[1, 2, 1]]
    with store.reading.connect() as connection:
        assert version_of(connection) == VERSION
        assert connection.execute(sa.select(votes.c.model)).scalars().all() == [0]
    secret = store.secret
    store.close()
    again = Store(place)
    assert again.secret == secret
    again.close()


def test_a_newer_schema_and_a_foreign_database_are_refused(place):
    engine = sql_engine(database_url(place), writing=True)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE something (x INTEGER)"))
    with pytest.raises(FileError, match="other tables, and none of mallowmix"):
        Store(place)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE something"))
        migrate(connection)
        connection.execute(meta.update().where(meta.c.key == "schema").values(value="99"))
    engine.dispose()
    with pytest.raises(FileError, match=r"newer mallowmix .schema 99, this one knows up to"):
        Store(place)


def test_sqlite_is_in_wal_and_waits_for_the_disk(tmp_path):
    engine = sql_engine(database_url(str(tmp_path / "v.db")), writing=True)
    with engine.connect() as connection:
        pragma = lambda name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()  # noqa: E731
        assert (pragma("journal_mode"), pragma("synchronous"), pragma("foreign_keys")) == (
            "wal",
            2,
            1,
        )


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        Store(str(tmp_path / "nowhere" / "v.db"))
    with pytest.raises(OptionError, match="'mysql' database; mallowmix keeps votes in SQLite"):
        database_url("mysql://u:secret@h/d")
    (tmp_path / "text.db").write_text("not a database, whatever its name says" * 50)
    with pytest.raises(
        FileError, match=r"text.db cannot be used as the database of votes: file is not a database"
    ):
        Store(str(tmp_path / "text.db"))
    assert "secret" not in shown(database_url("postgresql://u:secret@h/d"))
    with pytest.raises(FileError) as told:
        Store("postgresql://u:secret@127.0.0.1:1/d")
    assert "secret" not in str(told.value) and "cannot be used as the database of votes" in str(
        told.value
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://[",
        "postgresql://u:secret@[/d",
        "postgresql://[::1/d",
        "postgresql://[x]/d",
        "postgresql://a\nb/c",
        "postgresql://a b/c",
        "postgresql://h:99999/d",
        "postgresql://h:0/d",
        "postgresql://h:x/d",
    ],
)
def test_an_address_that_cannot_be_is_not_waited_for(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vote_store.time, "sleep", lambda seconds: pytest.fail("it waits"))
    with pytest.raises(OptionError) as told:
        Store(address, wait=30.0)
    assert told.value.option == "votes" and "secret" not in str(told.value)
    (tmp_path / "items.csv").write_text("a\nb\n", encoding="utf-8")
    out, error = run("serve", "--items", "items.csv", "--votes", address, code=2)
    assert out == "" and "--votes is not an address that can be read" in error
    assert "does not answer yet" not in error


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://[::1]:5432/d",
        "postgresql://[fe80::1%eth0]/d",
        "postgresql://u:p[w@h/d",
        "postgresql://one,two/d",
        "postgresql:///d?host=/var/run/postgresql",
        "postgresql://db_1.example.org:65535/d",
    ],
)
def test_addresses_that_can_be(address):
    assert database_url(address).drivername == "postgresql+psycopg"


def test_the_later_half_of_everybodys_votes():
    assert _later_half(np.array([7, 3, 7, 3, 7, 9])).tolist() == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


@pytest.mark.slow
def test_rows_of_nothing_have_their_shape(store):
    rows, names = store.rows()
    assert (
        rows.shape == (0, 4) and rows.dtype == np.int64 and set(names.values()) == {"a", "b", "c"}
    )


@pytest.mark.slow
def test_a_refit_says_how_many_votes_the_model_before_had_predicted(store, place):
    """Twelve people all prefer a to b to c; the first model is asked about the votes that come
    after it, which it predicts.
    """

    def vote(person, n, low, high):
        assert store.writer.submit(Vote(person, f"key-{n:05d}", low, high, 1, 0)).result() == STORED

    people_ = [add_person(store, f"x{n}") for n in range(12)]
    for person in people_:
        vote(person, 1, 1, 2)
        vote(person, 2, 2, 3)
    first = refit(place, "auto")
    assert (first["votes"], first["people"], first["predicted"], first["predicted_of"]) == (
        24,
        12,
        None,
        0,
    )
    model = loads(base64.b64decode(first["model"]))
    assert [str(model.items[i]) for i in model.order[0]] == ["a", "b", "c"]
    row = {
        name: first[name]
        for name in (
            "last_vote",
            "votes",
            "people",
            "components",
            "seconds",
            "predicted",
            "predicted_of",
        )
    }
    data = base64.b64decode(first["model"])
    store.writer.submit(
        lambda c: c.execute(models.insert().values(created=0.0, data=data, **row)).rowcount
    ).result()
    for person in people_[:8]:
        vote(person, 3, 1, 3)
    store.writer.submit(Vote(people_[8], "key-00003", 1, 3, -1, 0)).result()
    second = refit(place, 1)
    assert (
        second["predicted_of"] == 9
        and second["predicted"] == pytest.approx(8 / 9)
        and second["components"] == 1
    )
