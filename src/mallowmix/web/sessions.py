"""Sessions: tokens of participants and admins, kept as digests, and their CSRF tokens."""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict

COOKIE, ADMIN_COOKIE, NOTE_COOKIE = "mallowmix", "mallowmix_admin", "mallowmix_note"
YEAR = 365 * 24 * 3600
ADMIN_SECONDS = 12 * 3600
_MOST = 100_000


def new_token() -> str:
    """256 bits that nobody can guess."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What of a token is kept."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same(a: str, b: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(digest(a), digest(b))


def csrf_of(secret: bytes, token: str) -> str:
    """Return the CSRF token of a session, made with the server's secret."""
    return hmac.new(secret, b"csrf:" + token.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def link_of(secret: bytes, token: str) -> str:
    """Return the name of the page with a person's result: it opens that page and nothing else."""
    made = hmac.new(secret, b"link:" + token.encode("utf-8", "replace"), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(made[:18]).decode()


class SessionCache:
    """Digests of tokens seen lately and whose they are, so that a vote needs no look-up."""

    def __init__(self, most: int = _MOST) -> None:
        self._people: OrderedDict[str, int] = OrderedDict()
        self._most, self._lock = most, threading.Lock()

    def get(self, token_digest: str) -> int | None:
        """The person, where remembered."""
        with self._lock:
            return self._people.get(token_digest)

    def get_token(self, token: str) -> int | None:
        """The same by the token itself."""
        return self.get(digest(token))

    def put(self, token_digest: str, person: int) -> None:
        """Remember; the longest remembered is forgotten where there are too many."""
        with self._lock:
            self._people[token_digest] = person
            if len(self._people) > self._most:
                self._people.popitem(last=False)

    def forget(self, person: int) -> None:
        """A person was deleted."""
        with self._lock:
            for token in [token for token, number in self._people.items() if number == person]:
                del self._people[token]


class AdminSessions:
    """Who has shown the admin token: random session names, held in memory, each for half a day."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def open(self) -> str:
        """A new session."""
        now, token = time.monotonic(), new_token()
        self._until = {name: until for name, until in self._until.items() if until > now}
        self._until[digest(token)] = now + ADMIN_SECONDS
        return token

    def valid(self, token: str | None) -> bool:
        """Whether it is open still."""
        return token is not None and self._until.get(digest(token), 0.0) > time.monotonic()

    def close(self, token: str) -> None:
        """End it."""
        self._until.pop(digest(token), None)
