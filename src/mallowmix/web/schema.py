"""The tables of votes, and the migrations from each version of them to the next.

    meta      key, value          the version of the schema, the secret behind CSRF tokens
    items     id, name, status    active, proposed, rejected, or retired (its votes stay)
    people    id, token, link     digests alone of the session token and of the link to a result,
              origin, invitation  a name for the address, and the digest of the invitation
    votes     person, key, low, high, choice    1: low preferred; -1: high; 0: cannot decide
    models    id, votes, people, …, data        every refit, the newest with its model file

A vote is unique by (person, key): a retry never counts twice. It is also unique by
(person, low, high): no pair counts twice.
"""

from collections.abc import Callable

import sqlalchemy as sa

from mallowmix.errors import FileError

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

_PREDICTED_2 = "foretold"  # words: ok: what `predicted` was called up to version 2


def define(metadata: sa.MetaData, version: int) -> None:
    """The tables as they are in this version of the schema."""
    _define_what_is_asked(metadata)
    _define_votes(metadata, version)
    sa.Table(
        "models",
        metadata,
        _own_id(),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("last_vote", _Id, nullable=False),
        sa.Column("votes", sa.Integer, nullable=False),
        sa.Column("people", sa.Integer, nullable=False),
        sa.Column("components", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        # of later votes, the share that the model before had right
        sa.Column("predicted" if version >= 3 else _PREDICTED_2, sa.Double, nullable=True),
        sa.Column(
            "predicted_of" if version >= 3 else f"{_PREDICTED_2}_of", sa.Integer, nullable=False
        ),
        sa.Column("data", sa.LargeBinary, nullable=True),
    )


def _own_id() -> sa.Column:
    return sa.Column("id", _Id, primary_key=True, autoincrement=True)


def _define_what_is_asked(metadata: sa.MetaData) -> None:
    sa.Table(
        "meta",
        metadata,
        sa.Column("key", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    sa.Table(
        "items",
        metadata,
        _own_id(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("status", sa.String(12), nullable=False),
        sa.Column("proposed_by", _Id, nullable=True),
        sa.Column("created", sa.Double, nullable=False),
    )


def _define_votes(metadata: sa.MetaData, version: int) -> None:
    sa.Table(
        "people",
        metadata,
        _own_id(),
        sa.Column("token", sa.String(64), nullable=False, unique=True),
        sa.Column("link", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.Double, nullable=False),
        *(_where_from() if version >= 4 else []),
        sqlite_autoincrement=True,  # the number of someone deleted is never given again
    )
    sa.Table(
        "votes",
        metadata,
        _own_id(),
        sa.Column("person", _Id, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("low", _Id, sa.ForeignKey("items.id"), nullable=False),
        sa.Column("high", _Id, sa.ForeignKey("items.id"), nullable=False),
        sa.Column("choice", sa.SmallInteger, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        *([_asked_by()] if version >= 2 else []),
        sa.UniqueConstraint("person", "key"),
        sa.UniqueConstraint("person", "low", "high"),
        sa.CheckConstraint("low < high"),
        sa.CheckConstraint("choice in (-1, 0, 1)"),
    )


def _asked_by() -> sa.Column:
    # which model chose the pair; 0: none
    return sa.Column("model", sa.Integer, nullable=False, server_default="0")


def _where_from() -> list[sa.Column]:
    return [
        sa.Column("origin", sa.String(12), nullable=True),
        sa.Column("invitation", sa.String(64), nullable=True),
    ]


def _first(connection: sa.Connection) -> None:
    """Version 1: its votes did not say which model had chosen the question."""
    tables = sa.MetaData()
    define(tables, 1)
    tables.create_all(connection)


def _votes_know_their_model(connection: sa.Connection) -> None:
    """Version 2: a vote says which model chose its pair."""
    connection.execute(sa.text("ALTER TABLE votes ADD COLUMN model INTEGER DEFAULT 0 NOT NULL"))


def _predicted_by_its_name(connection: sa.Connection) -> None:
    """Version 3: two columns of `models` have the names that everything else has."""
    for old, new in ((_PREDICTED_2, "predicted"), (f"{_PREDICTED_2}_of", "predicted_of")):
        connection.execute(sa.text(f"ALTER TABLE models RENAME COLUMN {old} TO {new}"))


def _people_know_where_from(connection: sa.Connection) -> None:
    """Version 4: a participant has the name of an address and the digest of an invitation."""
    for statement in (
        "ALTER TABLE people ADD COLUMN origin VARCHAR(12)",
        "ALTER TABLE people ADD COLUMN invitation VARCHAR(64)",
        "CREATE INDEX people_origin ON people (origin, created)",
        "CREATE UNIQUE INDEX people_invitation ON people (invitation)",
    ):
        connection.execute(sa.text(statement))


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    _first,
    _votes_know_their_model,
    _predicted_by_its_name,
    _people_know_where_from,
)
VERSION = len(MIGRATIONS)
metadata = sa.MetaData()
define(metadata, VERSION)
meta, items, people, votes, models = (
    metadata.tables[name] for name in ("meta", "items", "people", "votes", "models")
)


def migrate(connection: sa.Connection, *, upto: int = VERSION) -> int:
    """Bring the tables to a version in this transaction; return the version that was found."""
    if connection.dialect.name == "postgresql":
        # two servers that start at once
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(4404)"))
    found = version_of(connection)
    if found > VERSION:
        raise FileError(
            f"The votes were written by a newer mallowmix (schema {found}, this one knows up to "
            f"{VERSION}): upgrade mallowmix."
        )
    for number in range(found, upto):
        MIGRATIONS[number](connection)
        connection.execute(meta.delete().where(meta.c.key == "schema"))
        connection.execute(meta.insert().values(key="schema", value=str(number + 1)))
    return found


def version_of(connection: sa.Connection) -> int:
    """The version of the tables that are there; 0 where there are none."""
    tables = set(sa.inspect(connection).get_table_names())
    if not tables:
        return 0
    if "meta" not in tables:
        raise FileError(
            "The database holds other tables, and none of mallowmix: name a new file, or a "
            "database of its own."
        )
    value = connection.execute(sa.select(meta.c.value).where(meta.c.key == "schema")).scalar()
    if not str(value).isdecimal():
        raise FileError(
            f"The database has a table meta whose schema is {str(value)[:20]!r}, which is no "
            "version of mallowmix: name a new file, or a database of its own."
        )
    return int(str(value))
