"""Take the pictures of pages in docs/images, and draw the README's: `python docs/make_images.py`.

The report and the survey of the built-in dishes, in the system's Chromium (Debian: apt-get install
chromium) by playwright, which the extra `dev` has. `--only report survey` takes some of them.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

import mallowmix as mm  # noqa: E402
from benchmarks.web_clients import ADMIN, Server  # noqa: E402

IMAGES = ("report", "report-people", "survey", "result", "phone", "explore", "admin", "own")
_OF_THE_REPORT, _OF_A_FIT = IMAGES[:2], IMAGES[-1:]
_WIDE, _PHONE = {"width": 960, "height": 600}, {"width": 390, "height": 720}
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_ASKED = "() => location.pathname === '/me' || document.querySelector('#survey[aria-busy=false]')"
_NEXT = (
    "(old) => location.pathname === '/me' || document.querySelector('#count')?.textContent !== old"
)

_VOTE = """async (pairs) => {
  const json = { 'Content-Type': 'application/json' };
  await fetch('/api/v1/people', { method: 'POST', headers: json, body: '{}' });
  const { csrf } = await (await fetch('/api/v1/me')).json();
  const items = await (await fetch('/api/v1/items')).json();
  const id = new Map(items.map((each) => [each.name, each.id]));
  const headers = { ...json, 'X-CSRF-Token': csrf };
  for (const [n, [best, other]] of pairs.entries()) {
    const vote = { key: `vote-${1000 + n}`, choice: 'first' };
    const body = JSON.stringify({ ...vote, first: id.get(best), second: id.get(other) });
    await fetch('/api/v1/votes', { method: 'POST', headers, body });
  }
}"""


def take_images(folder: Path, only: tuple[str, ...] = IMAGES, n_users: int = 600) -> list[Path]:
    """Take pictures into a folder.

    Parameters
    ----------
    folder : Path
        Where they go, each under its name and .png.
    only : tuple of str
        Which, from `IMAGES`.
    n_users : int
        How many people the population has; fewer are faster.
    """
    from playwright.sync_api import sync_playwright

    dishes = mm.load_dishes(n_users=n_users)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is not installed (Debian: apt-get install chromium).")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        if set(only) & set(_OF_THE_REPORT):
            _report(browser, dishes, Path(work), folder, only)
        if set(only) - set(_OF_THE_REPORT) - set(_OF_A_FIT):
            _pages(browser, dishes, Path(work), folder, only)
        if set(only) & set(_OF_A_FIT):
            _own(browser, dishes, Path(work), folder)
        browser.close()
    paths = [folder / f"{name}.png" for name in only]
    for path in paths:
        _shrink(path)
    return paths


def _shrink(path: Path) -> None:
    """Keep 128 colours, which is what a page has: a third of the bytes."""
    from PIL import Image

    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _report(browser: Any, dishes: Any, work: Path, folder: Path, only: tuple[str, ...]) -> None:
    """The top of the report down to the tastes, and how people mix them."""
    found = mm.make_report(dishes.model, dishes.comparisons, title="What people like to eat")
    found.save(work / "report.html")
    page = browser.new_page(viewport={"width": 1060, "height": 900})
    page.goto((work / "report.html").as_uri())
    page.wait_for_selector("#people .js-plotly-plot svg")
    if "report" in only:
        tastes = page.locator("#tastes").bounding_box()
        clip = {"x": 0, "y": 0, "width": 1060, "height": tastes["y"] + tastes["height"]}
        page.screenshot(path=folder / "report.png", clip=clip, full_page=True)
    if "report-people" in only:
        page.locator("#people").screenshot(path=folder / "report-people.png")
    page.close()


def _pages(browser: Any, dishes: Any, work: Path, folder: Path, only: tuple[str, ...]) -> None:
    """The pages of a survey that begins with a model."""
    mm.save(dishes.model, work / "model.m4")
    server = Server(["model.m4", "--questions", "6", "--title", "What do you like to eat?"], work)
    server.start()
    takes: dict[str, Callable[[Any], Any]] = {
        "survey": lambda page: (page.goto("/survey"), page.wait_for_function(_ASKED)),
        "phone": lambda page: (page.goto("/survey"), page.wait_for_function(_ASKED)),
        "result": _answer_all,
        "explore": lambda page: page.goto("/explore", wait_until="networkidle"),
        "admin": _log_in,
    }
    try:
        for name in (name for name in only if name in takes):
            phone = name == "phone"
            look = {"viewport": _PHONE, "color_scheme": "dark"} if phone else {"viewport": _WIDE}
            context = browser.new_context(base_url=server.url, **look)
            page = context.new_page()
            takes[name](page)
            page.screenshot(path=folder / f"{name}.png", full_page=not phone)
            context.close()
    finally:
        server.kill()


def _own(browser: Any, dishes: Any, work: Path, folder: Path) -> None:
    """The result of somebody who answers as the second taste does, but puts pizza over all."""
    model = mm.fit(dishes.comparisons, 3, seed=0)
    mm.save(model, work / "fitted.m4")
    items = model.items.tolist()
    order = ["pizza", *(items[i] for i in model.order[1] if items[i] != "pizza")]
    pairs = [[best, other] for n, best in enumerate(order) for other in order[n + 1 :]]
    server = Server(["fitted.m4", "--votes", "own.db"], work)
    server.start()
    try:
        context = browser.new_context(base_url=server.url, viewport=_WIDE)
        page = context.new_page()
        page.goto("/")
        page.evaluate(_VOTE, pairs)
        page.goto("/me")
        page.wait_for_selector("#own:not([hidden])")
        page.wait_for_selector("#keep:not([hidden])")
        end = page.locator("#keep").bounding_box()["y"]  # below is a link to this very page
        clip = {"x": 0, "y": 0, "width": _WIDE["width"], "height": end}
        page.screenshot(path=folder / "own.png", clip=clip, full_page=True)
        context.close()
    finally:
        server.kill()


def _answer_all(page: Any) -> None:
    """Take the first of every pair until the result is there."""
    page.goto("/survey")
    page.wait_for_function(_ASKED)
    while not page.url.endswith("/me"):
        count = page.inner_text("#count")
        page.click("#first")
        page.wait_for_function(_NEXT, arg=count)
        page.wait_for_function(_ASKED)
    page.wait_for_selector("#keep:not([hidden])")


def _log_in(page: Any) -> None:
    page.goto("/admin")
    page.fill("input[type=password]", ADMIN)
    page.keyboard.press("Enter")
    page.wait_for_selector(".admin")


def main() -> None:
    """Take all, or those that are named; and draw the README's picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=IMAGES, help="take these alone")
    given = parser.parse_args()
    for path in take_images(DOCS / "images", tuple(given.only or IMAGES)):
        print(f"Wrote {path}.")
    if not given.only:
        from make_picture import main as draw_readme_picture

        draw_readme_picture()


if __name__ == "__main__":
    main()
