"""The application: routes, pages and static files; every error becomes a sentence."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from mallowmix._version import __version__
from mallowmix.errors import MallowmixError
from mallowmix.web import admin, api, model_api, pages
from mallowmix.web.field_names import in_fields
from mallowmix.web.file_guard import VotesGone
from mallowmix.web.security import Guard
from mallowmix.web.site import Site
from mallowmix.web.work_pool import Busy

_DESCRIPTION = (
    "The survey and the model behind it. `/api/…` is the newest version, now `/api/v1/…`."
)


def create_app(site: Site) -> FastAPI:
    """Return the application of one site, which it closes at its end."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        site.start()
        yield
        site.close()

    app = FastAPI(
        title=f"mallowmix: {site.settings.title}",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # they would be fetched from elsewhere; /api has our own
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.site = site
    for router in (api.router, model_api.router):
        app.include_router(router, prefix="/api/v1")
        app.include_router(router, prefix="/api", include_in_schema=False)
    app.include_router(pages.router)
    app.include_router(admin.router)
    app.mount("/static", StaticFiles(directory=pages.HERE / "static"), name="static")
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(Guard, settings=site.settings, known=site.known)  # type: ignore[arg-type]
    return app


async def _refused(request: Request, error: HTTPException) -> Any:
    """An HTTP error: JSON for programs, a page for people."""
    wants_page = "text/html" in request.headers.get(
        "accept", ""
    ) and not request.url.path.startswith("/api/")
    if wants_page:
        return pages.render(
            request,
            "error.html",
            request.app.state.site,
            {"reason": str(error.detail)},
            status=error.status_code,
        )
    return JSONResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)


async def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
    """Say which field is invalid and why, without repeating the input."""
    first = (error.errors() or [{"loc": (), "msg": "The request is not readable"}])[0]
    where = ".".join(
        str(part) for part in first["loc"] if isinstance(part, int) or str(part).isidentifier()
    )
    return JSONResponse({"detail": f"{where}: {first['msg']}."}, 422)


async def _mallowmix(_request: Request, error: MallowmixError) -> JSONResponse:
    return JSONResponse({"detail": in_fields(error)}, 422)


async def _database(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse(
        {"detail": "The votes cannot be reached at the moment: try again."},
        503,
        headers={"Retry-After": "1"},
    )


async def _gone(_request: Request, error: VotesGone) -> JSONResponse:
    return JSONResponse(
        {"detail": "The database of votes is not in its place: no vote can be stored now."},
        503,
        headers={"Retry-After": str(error.retry_after)},
    )


async def _busy(_request: Request, error: Busy) -> JSONResponse:
    return JSONResponse(
        {"detail": "The server is busy: try again in a moment."},
        503,
        headers={"Retry-After": str(error.retry_after)},
    )


_HANDLERS: dict[Any, Any] = {
    HTTPException: _refused,
    RequestValidationError: _invalid,
    MallowmixError: _mallowmix,
    DBAPIError: _database,
    PoolTimeout: _database,
    Busy: _busy,
    VotesGone: _gone,
}
