"""The pages: HTML from templates that escape every name; scripts are in static/."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.templating import Jinja2Templates

from mallowmix._version import __version__
from mallowmix.web.access import TheSite
from mallowmix.web.item_pictures import TYPES
from mallowmix.web.site import Site

HERE = Path(__file__).parent
templates = Jinja2Templates(HERE / "templates")
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


def render(
    request: Request,
    name: str,
    site: Site,
    values: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    """A page from its template, which sees the values by their names."""
    shared = {"settings": site.settings, "version": __version__, "here": request.url.path}
    context = shared | dict(values or {})
    return templates.TemplateResponse(request, name, context, status_code=status)


@router.get("/")
async def home(request: Request, site: TheSite) -> HTMLResponse:
    """What this is, and the way in."""
    active = sum(item.status == "active" for item in site.items.values())
    values = {"n_items": active, "votes": site.counts["votes"], "fitted": site.fitted}
    return render(request, "home.html", site, values)


@router.get("/survey")
async def survey(request: Request, site: TheSite) -> HTMLResponse:
    """One question at a time."""
    return render(request, "survey.html", site)


@router.get("/me")
async def mine(request: Request, site: TheSite) -> HTMLResponse:
    """The participant's own result."""
    return render(request, "result.html", site, {"link": "", "own": True})


@router.get("/r/{link}")
async def kept(request: Request, link: str, site: TheSite) -> HTMLResponse:
    """A result by its link."""
    return render(request, "result.html", site, {"link": link, "own": False})


@router.get("/explore")
async def explore(request: Request, site: TheSite) -> HTMLResponse:
    """The tastes, where they part, and what they make of someone's choices."""
    people = 0 if site.crowd is None else site.crowd.n_users
    return render(request, "explore.html", site, {"people": people})


@router.get("/pictures/{item}")
async def picture(item: int, site: TheSite) -> FileResponse:
    """The picture of an item, from the folder of the file of names."""
    found = site.items.get(item)
    about = None if found is None else site.details.get(found.name)
    if about is None or not about.picture:
        raise HTTPException(404, "There is no picture of this item.")
    kind = TYPES[Path(about.picture).suffix.lower()]
    return FileResponse(
        about.picture, media_type=kind, headers={"Cache-Control": "public, max-age=3600"}
    )


@router.get("/api")
async def api_page(request: Request, site: TheSite) -> HTMLResponse:
    """The API in words, from its own description."""
    schema = request.app.openapi()
    calls = [
        {"path": path, "method": method.upper(), **call}
        for path, methods in schema["paths"].items()
        for method, call in methods.items()
    ]
    values = {"calls": calls, "shapes": schema["components"]["schemas"]}
    return render(request, "api.html", site, values)
