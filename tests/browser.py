"""The system's Chromium for tests of pages, and what makes them fail: noise on the console, or a
request to another place.
"""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launch(playwright):
    """A browser that asks nobody for anything by itself."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


def watch(context, home):
    """What goes wrong in the context's pages from now on: errors, warnings, dialogs, requests that
    do not begin with `home`.
    """
    wrong: list[str] = []
    context.on(
        "console",
        lambda said: (
            wrong.append(f"{said.type}: {said.text}") if said.type in ("error", "warning") else None
        ),
    )
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("dialog", lambda dialog: wrong.append(dialog.message))
    context.on(
        "request",
        lambda sent: (
            None if sent.url.startswith(home) else wrong.append(f"asked for {sent.url[:100]}")
        ),
    )
    return wrong
