"""The database of votes as a server uses it: migrated, read by many, written by one thread."""

import logging
import secrets
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.exc import DBAPIError, OperationalError

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import FileError
from mallowmix.web.connections import database_url, shown, sql_engine
from mallowmix.web.file_guard import FileGuard
from mallowmix.web.schema import items, meta, migrate, models, people, votes
from mallowmix.web.votes_file import check_votes_file
from mallowmix.web.writer import Writer

_log = logging.getLogger("mallowmix.web")
ACTIVE, PROPOSED, REJECTED, RETIRED = "active", "proposed", "rejected", "retired"


class Item(NamedTuple):
    """Something that is compared; `by` is the participant who proposed it."""

    id: int
    name: str
    status: str
    by: int | None = None


class Person(NamedTuple):
    """A participant: their number, and how many answers and undecided ones they have given."""

    id: int
    created: float
    votes: int
    skipped: int


class Archive:
    """The database as it is read: by a server, and by the process that learns."""

    def __init__(self, database: str) -> None:
        self.url = database_url(database)
        self.database, self.reading = shown(self.url), sql_engine(self.url, writing=False)

    def close(self) -> None:
        """Let go."""
        self.reading.dispose()

    def items(self) -> list[Item]:
        """All items, by number."""
        with self.reading.connect() as connection:
            rows = connection.execute(
                sa.select(items.c.id, items.c.name, items.c.status, items.c.proposed_by).order_by(
                    items.c.id
                )
            )
            return [Item(*row) for row in rows]

    def person_by(self, column: str, digest: str) -> int | None:
        """The number of the person with this digest of a token or a link."""
        with self.reading.connect() as connection:
            return connection.execute(
                sa.select(people.c.id).where(people.c[column] == digest)
            ).scalar()

    def answers_of(self, person: int) -> NDArray[np.int64]:
        """(n, 3) low, high, choice of one person, in the order in which they came."""
        query = (
            sa.select(votes.c.low, votes.c.high, votes.c.choice)
            .where(votes.c.person == person)
            .order_by(votes.c.id)
        )
        with self.reading.connect() as connection:
            rows = connection.execute(query).fetchall()
        return np.array([tuple(row) for row in rows], np.int64).reshape(-1, 3)

    def counts(self) -> dict[str, int]:
        """How many votes, undecided answers and people there are."""
        with self.reading.connect() as connection:
            return {
                "votes": connection.execute(
                    sa.select(sa.func.count()).where(votes.c.choice != 0)
                ).scalar_one(),
                "skipped": connection.execute(
                    sa.select(sa.func.count()).where(votes.c.choice == 0)
                ).scalar_one(),
                "people": connection.execute(
                    sa.select(sa.func.count(sa.distinct(votes.c.person)))
                ).scalar_one(),
            }

    def pair_counts(self) -> dict[tuple[int, int], int]:
        """How often each pair was answered."""
        query = sa.select(votes.c.low, votes.c.high, sa.func.count()).group_by(
            votes.c.low, votes.c.high
        )
        with self.reading.connect() as connection:
            return {(low, high): count for low, high, count in connection.execute(query)}

    def pair_wins(self) -> dict[tuple[int, int], tuple[int, int]]:
        """How often the lower and the higher number of each pair was chosen."""
        low, high = (sa.func.sum(sa.case((votes.c.choice == way, 1), else_=0)) for way in (1, -1))
        query = sa.select(votes.c.low, votes.c.high, low, high).group_by(votes.c.low, votes.c.high)
        with self.reading.connect() as connection:
            return {(a, b): (int(x), int(y)) for a, b, x, y in connection.execute(query)}

    def people(self, after: int = 0, most: int = 50) -> list[Person]:
        """Participants by number, from the one after `after`."""
        given = sa.func.coalesce(sa.func.sum(sa.case((votes.c.choice != 0, 1), else_=0)), 0)
        query = (
            sa.select(people.c.id, people.c.created, given, sa.func.count(votes.c.id) - given)
            .select_from(people.outerjoin(votes))
            .where(people.c.id > after)
            .group_by(people.c.id, people.c.created)
            .order_by(people.c.id)
            .limit(most)
        )
        with self.reading.connect() as connection:
            return [Person(*row) for row in connection.execute(query)]

    def fits(self) -> list[dict[str, Any]]:
        """Return every refit, oldest first, without the models themselves."""
        columns = [column for column in models.c if column.name != "data"]
        with self.reading.connect() as connection:
            return [
                dict(row._mapping)
                for row in connection.execute(sa.select(*columns).order_by(models.c.id))
            ]

    def newest_model(self) -> tuple[int, int, bytes] | None:
        """Number, last vote learnt from, and file of the newest model."""
        return next(iter(self.kept_models(1)), None)

    def kept_models(self, most: int = 10) -> list[tuple[int, int, bytes]]:
        """The same of all models whose files are kept, the newest first."""
        query = sa.select(models.c.id, models.c.last_vote, models.c.data).where(
            models.c.data.is_not(None)
        )
        with self.reading.connect() as connection:
            rows = connection.execute(query.order_by(models.c.id.desc()).limit(most)).fetchall()
        return [(row[0], row[1], row[2]) for row in rows]

    def origins(self) -> dict[int, str]:
        """The name of the address from which each participant began, where it is known."""
        query = sa.select(people.c.id, people.c.origin).where(people.c.origin.is_not(None))
        with self.reading.connect() as connection:
            return {row.id: row.origin for row in connection.execute(query)}

    def unlearnt(self, model: int) -> int:
        """How many votes a model has not learnt from, and how many it should forget by now."""
        query = sa.select(models.c.last_vote, models.c.votes).where(models.c.id == model)
        with self.reading.connect() as connection:
            last, learnt = connection.execute(query).first() or (0, 0)
            later = sa.case((votes.c.id > last, 1), else_=0)
            count, new = connection.execute(
                sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(later), 0)).where(
                    votes.c.choice != 0
                )
            ).one()
        return int(new) + max(learnt - (count - int(new)), 0)

    def rows(self) -> tuple[NDArray[np.int64], dict[int, str]]:
        """Return (n, 4) id, person, winner, loser of every decided vote, and the items' names."""
        winner = sa.case((votes.c.choice > 0, votes.c.low), else_=votes.c.high)
        loser = sa.case((votes.c.choice > 0, votes.c.high), else_=votes.c.low)
        query = (
            sa.select(votes.c.id, votes.c.person, winner, loser)
            .where(votes.c.choice != 0)
            .order_by(votes.c.id)
        )
        with self.reading.connect() as connection:
            rows = np.array([tuple(row) for row in connection.execute(query)], np.int64).reshape(
                -1, 4
            )
        return rows, {item.id: item.name for item in self.items()}


class Store(Archive):
    """The same with its one writer; opening it makes or upgrades the tables."""

    def __init__(
        self, database: str, on_commit: Any = lambda n: None, *, wait: float = 0.0
    ) -> None:
        """Open; `wait`: seconds for a database server that does not answer yet."""
        super().__init__(database)
        if self._is_file:
            check_votes_file(Path(str(self.url.database)))
        self._writing = sql_engine(self.url, writing=True)
        try:
            self.secret = _when_ready(self._prepared, wait, self.database)
        except DBAPIError as error:
            reason = _reason(error)
            raise FileError(
                f"{self.database} cannot be used as the database of votes: {reason}."
            ) from None
        path = Path(str(self.url.database)) if self._is_file else None
        self.guard = FileGuard(path, self.secret.hex())
        self.writer = Writer(self._writing, on_commit, self.guard)

    @property
    def _is_file(self) -> bool:
        return self.url.drivername == "sqlite"

    @property
    def problem(self) -> str:
        """Why votes cannot be stored; empty where they can."""
        if not self.guard.intact:
            return "The file of votes was deleted or replaced."
        return "" if self.writer.healthy else "The last write to the database failed."

    def _prepared(self) -> bytes:
        with self._writing.begin() as connection:
            migrate(connection)
            return _secret(connection)

    def close(self) -> None:
        """Write what waits and let go; what has taken the place of our file is left alone."""
        self.writer.stop()
        if self.guard.intact:
            super().close()
            self._writing.dispose()

    def checkpoint(self) -> None:
        """Move everything from SQLite's write-ahead log into the file, and empty the log."""
        if self._is_file and self.guard.intact:
            with self.guard.own_write(), closing(self._writing.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add_items(self, names: list[str]) -> int:
        """Make sure that these are there; how many are new."""

        def add(connection: sa.Connection) -> int:
            known = {name for (name,) in connection.execute(sa.select(items.c.name))}
            new = [name for name in dict.fromkeys(names) if name not in known]
            if new:
                rows = [{"name": name, "status": ACTIVE, "created": time.time()} for name in new]
                connection.execute(items.insert(), rows)
            return len(new)

        return self.writer.submit(add).result()


def _when_ready(call: Callable[[], bytes], wait: float, database: str) -> bytes:
    """Run a call, again and again while a database server does not answer, for so many seconds."""
    end, pause = time.monotonic() + wait, 0.25
    while True:
        try:
            return call()
        except OperationalError as error:
            if not _is_starting(error) or time.monotonic() + pause > end:
                raise
            _log.warning("%s does not answer yet (%s): trying again.", database, _reason(error))
        time.sleep(pause)
        pause = min(2 * pause, 2.0)


def _is_starting(error: OperationalError) -> bool:
    """Whether a server refused the connection, or said that it is starting or stopping."""
    state = getattr(error.orig, "sqlstate", None)
    is_server = hasattr(error.orig, "sqlstate")
    return is_server and (state is None or state.startswith("57P"))


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0].rstrip(".")


def _secret(connection: sa.Connection) -> bytes:
    """Return the key of CSRF tokens, kept with the votes so that pages survive a restart."""
    found = connection.execute(sa.select(meta.c.value).where(meta.c.key == "secret")).scalar()
    if found is None:
        found = secrets.token_hex(32)
        connection.execute(meta.insert().values(key="secret", value=found))
    return bytes.fromhex(found)


def person_name(number: int) -> str:
    """What a participant is called in exports and on the admin page."""
    return f"p{number:06d}"


def comparisons_of_votes(rows: NDArray[np.int64], names: dict[int, str]) -> Comparisons:
    """Rows of `Store.rows` as comparisons."""
    label = np.vectorize(names.__getitem__, otypes=[object])
    user = [person_name(number) for number in rows[:, 1].tolist()]
    return Comparisons.from_arrays(user, label(rows[:, 2]).tolist(), label(rows[:, 3]).tolist())
