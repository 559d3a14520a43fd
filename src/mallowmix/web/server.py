"""Run the application until it is stopped: uvicorn, one process, on an address of one's own unless told otherwise."""

import uvicorn

from mallowmix.web.app import create_app
from mallowmix.web.site import Site

_PATIENCE = 3  # seconds for requests that run when the server is stopped


def run(site: Site, host: str, port: int) -> None:
    """Serve until interrupted. Requests are not logged: links to results are secrets."""
    uvicorn.run(
        create_app(site),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
        limit_concurrency=1000,
        timeout_keep_alive=30,
    )
