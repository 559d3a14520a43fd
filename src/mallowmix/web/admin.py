"""The admin's pages: plain forms, each with a CSRF token, behind a token that is in no URL."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from mallowmix.errors import DataError
from mallowmix.web.access import TheSite, address_of, is_secure, same_origin
from mallowmix.web.export import as_csv, as_parquet, export_table
from mallowmix.web.field_names import in_fields
from mallowmix.web.item_names import clean_name
from mallowmix.web.pages import render
from mallowmix.web.participants import new_invitation
from mallowmix.web.rate_limits import Rates
from mallowmix.web.security import bearer_in
from mallowmix.web.sessions import ADMIN_COOKIE, ADMIN_SECONDS, NOTE_COOKIE, csrf_of, same
from mallowmix.web.site import Site
from mallowmix.web.vote_store import ACTIVE, PROPOSED, REJECTED, RETIRED, person_name

router = APIRouter(prefix="/admin", include_in_schema=False)
# Wrong tokens from one address. A right one is let in whatever came before it, and is not counted:
# else whoever guesses locks the admin out. Nobody guesses twelve random characters.
_tries = Rates(rate=0.2, burst=10)
Text = Annotated[str, Form(max_length=400)]


def _open(site: Site) -> None:
    if site.settings.admin_token is None:
        raise HTTPException(404, "The admin pages are closed: start the server with --admin-token.")


def _bearer(request: Request) -> str | None:
    return bearer_in(dict(request.scope["headers"]))


def is_admin(request: Request, site: Site) -> bool:
    """Return whether the request has the admin token (bearer) or an admin session (cookie)."""
    bearer = _bearer(request)
    if bearer is not None:
        return _is_admin_token(bearer, request, site)
    return site.admins.valid(request.cookies.get(ADMIN_COOKIE))


def _is_admin_token(token: str, request: Request, site: Site) -> bool:
    """Compare; too many wrong tokens from one address are answered with 429."""
    if same(token, site.settings.admin_token or ""):
        return True
    wait = _tries.wait(address_of(request))
    if wait > 0:
        raise HTTPException(
            429, "Too many wrong tokens: wait a minute.", {"Retry-After": str(int(wait) + 1)}
        )
    return False


async def require_admin(request: Request, site: TheSite) -> None:
    """Only an admin may look."""
    _open(site)
    if not is_admin(request, site):
        raise HTTPException(401, "This needs the admin token.")


async def require_admin_form(request: Request, site: TheSite, csrf: Text = "") -> None:
    """Only an admin may change, from our own form."""
    await require_admin(request, site)
    if _bearer(request) is None:
        same_origin(request)
        if not same(csrf, csrf_of(site.store.secret, request.cookies.get(ADMIN_COOKIE, ""))):
            raise HTTPException(403, "The form is out of date: reload the page and send it again.")


ADMIN, ADMIN_FORM = [Depends(require_admin)], [Depends(require_admin_form)]


def _back(request: Request, note: str) -> RedirectResponse:
    """Back to the admin's page, which says once what was done."""
    response = RedirectResponse("/admin", 303)
    response.set_cookie(NOTE_COOKIE, note, max_age=20, **_cookie_options(request))
    return response


def _cookie_options(request: Request) -> dict[str, Any]:
    """What all cookies of these pages have in common."""
    return {
        "httponly": True,
        "samesite": "strict",
        "secure": is_secure(request),
        "path": "/admin",
    }


@router.get("")
async def page(request: Request, site: TheSite, after: int = 0) -> Response:
    """Everything at a glance; the way in, where nobody is in yet."""
    _open(site)
    if not is_admin(request, site):
        return render(request, "login.html", site)
    values = await site.run_slow(_admin_values, site, request, max(after, 0))
    response = render(request, "admin.html", site, values)
    response.delete_cookie(NOTE_COOKIE, path="/admin")
    return response


def _admin_values(site: Site, request: Request, after: int) -> dict[str, Any]:
    people = site.store.people(min(after, 2**31))
    return {
        "csrf": csrf_of(site.store.secret, request.cookies.get(ADMIN_COOKIE, "")),
        "note": request.cookies.get(NOTE_COOKIE, ""),
        "counts": site.store.counts(),
        "fits": site.store.fits()[::-1][:20],
        "proposed": [item for item in site.items.values() if item.status == PROPOSED],
        "others": [item for item in site.items.values() if item.status != PROPOSED],
        "people": [(person_name(person.id), person) for person in people],
        "following": people[-1].id if len(people) == 50 else None,
        "tastes": [] if site.fitted is None else site.fitted.tastes,
        "refitter": site.refitter,
        "database": site.store.database,
    }


@router.post("/login", dependencies=[Depends(same_origin)])
async def login(request: Request, site: TheSite, token: Text = "") -> Response:
    """Show the token once; a cookie does the rest."""
    _open(site)
    if not _is_admin_token(token, request, site):
        wrong = {"wrong": "That is not the admin token."}
        return render(request, "login.html", site, wrong, status=401)
    response = RedirectResponse("/admin", 303)
    options = _cookie_options(request)
    response.set_cookie(ADMIN_COOKIE, site.admins.open(), max_age=ADMIN_SECONDS, **options)
    return response


@router.post("/logout", dependencies=ADMIN_FORM)
async def logout(request: Request, site: TheSite) -> Response:
    """End the session."""
    site.admins.close(request.cookies.get(ADMIN_COOKIE, ""))
    response = RedirectResponse("/", 303)
    response.delete_cookie(ADMIN_COOKIE, path="/admin")
    return response


@router.post("/refit", dependencies=ADMIN_FORM)
async def refit(request: Request, site: TheSite) -> Response:
    """Learn again now."""
    site.refitter.request()
    return _back(request, "A refit has been asked for.")


@router.post("/items", dependencies=ADMIN_FORM)
async def add(request: Request, site: TheSite, name: Text) -> Response:
    """Add an item."""
    try:
        added = await site.add_item(clean_name(name), ACTIVE)
    except DataError as error:
        return _back(request, in_fields(error).encode("ascii", "replace").decode())
    return _back(request, "The item was added." if added else "There is such an item already.")


@router.post("/items/{item}", dependencies=ADMIN_FORM)
async def moderate(request: Request, item: int, site: TheSite, status: Text) -> Response:
    """Let a proposal in or turn it down; retire an item or bring it back."""
    if item not in site.items or status not in (ACTIVE, REJECTED, RETIRED):
        raise HTTPException(404, "There is no such item, or no such state.")
    await site.set_status(item, status)
    return _back(request, "The item was changed.")


@router.post("/people/{person}/delete", dependencies=ADMIN_FORM)
async def delete(request: Request, person: int, site: TheSite) -> Response:
    """Delete a person and all their votes."""
    if not 0 < person < 2**31 or not await site.delete_person(person):
        raise HTTPException(404, "There is no such person.")
    return _back(
        request,
        f"{person_name(person)} and all their votes are gone. The model forgets them at the "
        "next refit.",
    )


@router.post("/invitations", dependencies=ADMIN_FORM)
async def invite(
    request: Request, site: TheSite, number: Annotated[int, Form(ge=1, le=10_000)]
) -> Response:
    """Make invitation links, each good for one participant, as a text file."""
    base = site.settings.origin or str(request.base_url).rstrip("/")
    links = [f"{base}/survey#{new_invitation(site.store.secret)}\n" for _ in range(number)]
    return Response(
        "".join(links),
        media_type="text/plain",
        headers={"Content-Disposition": 'attachment; filename="invitations.txt"'},
    )


@router.get("/votes.csv", dependencies=ADMIN)
async def votes_csv(site: TheSite) -> Response:
    """All votes as CSV."""
    data = await site.run_long(lambda: as_csv(export_table(site.store)))
    return Response(
        data,
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="votes.csv"'},
    )


@router.get("/votes.parquet", dependencies=ADMIN)
async def votes_parquet(site: TheSite) -> Response:
    """All votes as Parquet."""
    data = await site.run_long(lambda: as_parquet(export_table(site.store)))
    kind = "application/vnd.apache.parquet"
    return Response(
        data,
        media_type=kind,
        headers={"Content-Disposition": 'attachment; filename="votes.parquet"'},
    )
