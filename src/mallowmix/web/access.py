"""What a request may do: the session behind it, and the proof that our own page sent it."""

from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request

from mallowmix.web.addresses import counted_address
from mallowmix.web.security import bearer_in, token_in
from mallowmix.web.sessions import csrf_of, same
from mallowmix.web.site import Site


class Session(NamedTuple):
    """A participant and the token that they showed."""

    person: int
    token: str


def site_of(request: Request) -> Site:
    """The running site."""
    return request.app.state.site


def same_origin(request: Request) -> None:
    """Refuse what another site's page sends: browsers say where a request comes from."""
    origin, fetched = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = site_of(request).settings.origin
    if own is not None:
        foreign = origin is not None and origin.lower() != own
    else:
        foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or fetched not in (None, "same-origin", "none"):
        raise HTTPException(403, "This request came from another site.")


def address_of(request: Request) -> str:
    """What limits count the client by."""
    return counted_address(request.client.host if request.client else None)


def is_secure(request: Request) -> bool:
    """Whether cookies of the answer must go over TLS alone."""
    return request.url.scheme == "https" or site_of(request).settings.secure


async def find_session(request: Request, site: Site) -> Session | None:
    """The participant of a request, if there is one."""
    token = token_in(dict(request.scope["headers"]))
    person = None
    if token is not None:
        person = site.known.get_token(token)
        person = await site.run_slow(site.person_of, token) if person is None else person
    return None if token is None or person is None else Session(person, token)


async def session_of(request: Request, site: Annotated[Site, Depends(site_of)]) -> Session | None:
    """The same for a route."""
    return await find_session(request, site)


async def require_session(session: Annotated[Session | None, Depends(session_of)]) -> Session:
    """The participant of a request that changes nothing."""
    if session is None:
        raise HTTPException(401, "There is no session: begin with POST /api/v1/people.")
    return session


async def require_write(request: Request, site: Annotated[Site, Depends(site_of)]) -> Session:
    """Return the participant of a request that writes; with a cookie, the CSRF token must match.

    A browser adds cookies by itself, and never a bearer's token: only a session that was found by
    such a token needs no proof that our own page sent the request.
    """
    session = await require_session(await find_session(request, site))
    if bearer_in(dict(request.scope["headers"])) is None:
        same_origin(request)
        if not same(
            request.headers.get("x-csrf-token", ""), csrf_of(site.store.secret, session.token)
        ):
            raise HTTPException(
                403, "The header X-CSRF-Token is missing or wrong: reload the page."
            )
    return session


TheSite = Annotated[Site, Depends(site_of)]
MaybeSession = Annotated[Session | None, Depends(session_of)]
ReadAccess = Annotated[Session, Depends(require_session)]
WriteAccess = Annotated[Session, Depends(require_write)]
