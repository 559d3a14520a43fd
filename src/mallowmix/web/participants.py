"""Participants in the database: who may begin, and what goes when somebody is deleted."""

import base64
import hashlib
import hmac
import secrets
import time

import sqlalchemy as sa

from mallowmix.web.schema import items, people, votes
from mallowmix.web.sessions import digest

FULL, USED = "full", "used"  # why somebody may not begin
DAY = 24 * 3600.0
_NONCE = 9  # bytes; as many of the signature


def origin_of(secret: bytes, address: str) -> str:
    """Return the name of an address in the database and its exports.

    The same address always has the same name, and the name does not show the address. Who has the
    server's secret (it is in the database) can find it by trying all addresses.
    """
    made = hmac.new(secret, b"origin:" + address.encode("utf-8", "replace"), hashlib.sha256)
    return made.hexdigest()[:12]


def new_invitation(secret: bytes) -> str:
    """Return the end of an invitation link: a random number that the server has signed."""
    nonce = secrets.token_bytes(_NONCE)
    return base64.urlsafe_b64encode(nonce + _signature(secret, nonce)).decode()


def is_invitation(secret: bytes, code: str) -> bool:
    """Whether this server made it."""
    try:
        data = base64.urlsafe_b64decode(code.encode("ascii"))
    except ValueError:
        return False
    return hmac.compare_digest(data[_NONCE:], _signature(secret, data[:_NONCE]))


def _signature(secret: bytes, nonce: bytes) -> bytes:
    return hmac.new(secret, b"invitation:" + nonce, hashlib.sha256).digest()[:_NONCE]


def add_person(
    connection: sa.Connection,
    names: dict[str, str],
    origin: str,
    *,
    invitation: str | None = None,
    most: int = 0,
) -> int | str:
    """Insert a participant; return their number, or why they may not begin.

    Parameters
    ----------
    connection : sqlalchemy.Connection
    names : dict
        The digests of the token and of the link.
    origin : str
        As in `origin_of`.
    invitation : str or None
        What an invitation link ends with; it is good for one participant.
    most : int
        How many may begin from one origin in a day; 0 sets no limit.
    """
    now, used = time.time(), None if invitation is None else digest(invitation)
    # nobody counts who began far in the future: the clock was wrong then
    lately = sa.select(sa.func.count()).where(
        people.c.origin == origin, people.c.created.between(now - DAY, now + DAY)
    )
    if most and connection.execute(lately).scalar_one() >= most:
        return FULL
    if (
        used is not None
        and connection.execute(sa.select(people.c.id).where(people.c.invitation == used)).first()
    ):
        return USED
    row = {**names, "origin": origin, "invitation": used, "created": now}
    key = connection.execute(people.insert().values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])


def delete_person(connection: sa.Connection, person: int) -> int:
    """Delete a participant, their votes and their proposals; return how many were found (0 or 1).

    What they proposed and was let in stays, without their number: others have voted on it.
    """
    found = connection.execute(people.delete().where(people.c.id == person)).rowcount
    theirs = items.c.proposed_by == person
    voted = sa.exists().where((votes.c.low == items.c.id) | (votes.c.high == items.c.id))
    unused = items.c.status.in_(["proposed", "rejected"]) & ~voted
    connection.execute(items.delete().where(theirs & unused))
    connection.execute(items.update().where(theirs).values(proposed_by=None))
    return found
