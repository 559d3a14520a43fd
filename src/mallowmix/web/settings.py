"""Settings of a server: names, limits, when to refit; checked once, then never changed."""

import ipaddress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

from mallowmix.errors import Option, OptionError, check_at_least

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_SHORTEST_TOKEN = 12


@dataclass(frozen=True)
class Settings:
    """All settings of a server.

    Attributes
    ----------
    title, question : str
        The headings of the survey and of each pair.
    questions, least : int
        The most questions for one person, and the fewest before `enough` may stop them.
    enough : float
        In nats: stop when no open pair is more informative.
    refit_votes, refit_minutes
        Refit after so many new votes, or so long after the first new one; 0 is never.
    n_components : int or "auto"
        K of a refit.
    nice : int
        The niceness of the process that refits, from 0 to 19.
    propose : bool
        Whether participants may propose items (an admin accepts them).
    admin_token : str or None
        Opens the admin pages; None closes them.
    rate : float
        Requests a second for each session, ten seconds' worth at once; 0 sets no limit.
    body : int
        The most bytes of a request.
    hosts : tuple of str
        Values that the Host header may have; any if empty.
    public_url : str or None
        Where visitors find the server, as in "https://survey.example.org": requests must come from
        its pages, and cookies are Secure where it is https.
    trusted_proxies : tuple of str
        Addresses (or networks) whose X-Forwarded-For and X-Forwarded-Proto are believed.
    connections : int
        The most connections of one address; trusted proxies have no such limit.
    header_seconds, body_seconds : float
        How long a client may take to send the head, and the body, of a request.
    deadline : float
        Seconds after which a request is answered with 503 if it still waits for a computation.
    refit_limit : float
        Minutes after which a refit that still runs is ended; 0 is never.
    database_wait : float
        Seconds to wait at the start for a PostgreSQL that does not answer yet.
    people_per_address : int
        The most participants that one address may begin in a day; 0 sets no limit.
    invitations : bool
        Whether one needs an invitation link to take part.
    """

    title: str = "What do you prefer?"
    question: str = "Which do you prefer?"
    questions: int = 25
    least: int = 8
    enough: float = 0.02
    refit_votes: int = 0
    refit_minutes: float = 0.0
    n_components: int | Literal["auto"] = "auto"
    nice: int = 10
    propose: bool = False
    admin_token: str | None = None
    rate: float = 20.0
    body: int = 65_536
    hosts: tuple[str, ...] = ()
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    connections: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    deadline: float = 30.0
    refit_limit: float = 60.0
    database_wait: float = 30.0
    people_per_address: int = 200
    invitations: bool = False

    def __post_init__(self) -> None:
        check_at_least("questions", self.questions, 1)
        check_at_least("refit_votes", self.refit_votes, 0)
        check_at_least("refit_minutes", self.refit_minutes, 0)
        check_at_least("rate", self.rate, 0)
        check_at_least("connections", self.connections, 1)
        check_at_least("refit_limit", self.refit_limit, 0)
        check_at_least("database_wait", self.database_wait, 0)
        check_at_least("people_per_address", self.people_per_address, 0)
        _check_public_url(self.public_url)
        for address in self.trusted_proxies:
            _check_address(address)
        if self.n_components != "auto":
            check_at_least("n_components", self.n_components, 1)
        if self.admin_token is not None and len(self.admin_token) < _SHORTEST_TOKEN:
            raise OptionError(
                f"The admin token has {len(self.admin_token)} characters; give at least "
                f"{_SHORTEST_TOKEN}, such as the output of `openssl rand -hex 16`.",
                option="admin_token",
                value="***",  # a secret
                expected=f"at least {_SHORTEST_TOKEN} characters",
            )

    @cached_property
    def origin(self) -> str | None:
        """The origin of the public pages as browsers write it; None where it is not known."""
        if self.public_url is None:
            return None
        url = urlsplit(self.public_url.lower())
        usual = {"http": 80, "https": 443}[url.scheme]
        port = "" if url.port in (None, usual) else f":{url.port}"
        return f"{url.scheme}://{_bracketed(url.hostname or '')}{port}"

    @property
    def secure(self) -> bool:
        """Whether visitors come over TLS, so that cookies must not go without it."""
        return self.origin is not None and self.origin.startswith("https:")

    def is_trusted(self, address: str) -> bool:
        """Whether an address is that of a trusted proxy."""
        try:
            number = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(number in ipaddress.ip_network(each) for each in self.trusted_proxies)


def allowed_hosts(host: str, public_url: str | None) -> tuple[str, ...]:
    """Return the values of the Host header that a server on `host` answers to; () is any.

    Examples
    --------
    >>> allowed_hosts("0.0.0.0", "https://survey.example.org")[-1]
    'survey.example.org'
    """
    if public_url is None:
        return LOOPBACK if host in LOOPBACK else ()
    return (*LOOPBACK, _bracketed(urlsplit(public_url.lower()).hostname or ""))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _check_public_url(text: str | None) -> None:
    if text is None:
        return
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1) > 0
    except ValueError:
        usable, url = False, urlsplit("")
    if not usable or url.path not in ("", "/") or url.query or url.fragment or "@" in url.netloc:
        raise OptionError(
            Option("public_url", text),
            " is not an address of a site: give its scheme and host and nothing after them, as in "
            "https://survey.example.org.",
            option="public_url",
            value=text,
            expected="https://HOST, without a path",
        )


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise OptionError(
            Option("trusted_proxy", text),
            " is neither an address nor a network: give one such as 127.0.0.1 or 10.0.0.0/8.",
            option="trusted_proxy",
            value=text,
            expected="an address such as 127.0.0.1, or a network such as 10.0.0.0/8",
        ) from None
