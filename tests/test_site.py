"""The site: every page and every public name is on it, its figures are made, its links are checked.

`make docs` builds it; only the last tests here need Sphinx.
"""

import fcntl
import functools
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import mallowmix
from tests.browser import launch, needs_chromium, watch
from tools.page_blocks import FENCE, without_blocks
from tools.site_links import site_problems

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def pages_below(page: Path) -> list[Path]:
    """The pages that a page's tables of contents name, in order."""
    found: list[Path] = []
    for block in FENCE.finditer(read(page)):
        if not block[0].startswith("```{toctree}"):
            continue
        for line in block["text"].splitlines():
            name = re.sub(r".*<(.+)>", r"\1", line)
            if "*" in name:
                beside = sorted((page.parent / name).parent.glob("*.md"))
                found += [file.resolve() for file in beside if file != page]
            elif name and not name.startswith(":"):
                found.append((page.parent / f"{name}.md").resolve())
    return found


def test_every_page_is_in_the_navigation_once():
    found, waiting = [DOCS / "index.md"], [DOCS / "index.md"]
    while waiting:
        below = pages_below(waiting.pop())
        found += below
        waiting += below
    results = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    own = [file for file in DOCS.rglob("*.md") if "generated" not in file.parts]
    assert sorted(found) == sorted([*own, *(ROOT / name for name in OUTSIDE), *results])


def test_every_public_name_is_in_the_reference_once():
    listed = re.findall(r"^   (\w+)$", read(DOCS / "api.md"), re.M)
    assert sorted(listed) == sorted(mallowmix.__all__)


def test_figures_of_the_build_are_those_that_pages_show(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    makes = importlib.import_module("make_figures")
    shown = [
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"figures/made/([\w-]+\.\w+)", without_blocks(read(page)))
    ]
    assert sorted(shown) == sorted(makes.made_names())
    for page, names in makes.TUTORIALS.items():
        code = "".join(block["text"] for block in FENCE.finditer(read(DOCS / page)))
        assert [name for name in names if name not in code] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=lambda p: p.name)
def test_no_line_of_prose_begins_with_a_marked_number(page):
    """A comment at the beginning of a line ends the paragraph before it."""
    assert not re.search(r"^ *<!--=(?!table )", read(page), re.M)


def test_broken_links_and_what_is_loaded_from_elsewhere_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="top">b</h1><a href="#">up</a>', encoding="utf-8")
    (tmp_path / "a.html").write_text(
        '<img src="c.png"><script src="https://cdn.example/x.js"></script>'
        '<a href="b.html#top">b</a>'
        '<a href="b.html#end">b</a><a href="https://example.org">out</a><a href="d.html">d</a>',
        encoding="utf-8",
    )
    assert site_problems(tmp_path) == [
        "a.html loads https://cdn.example/x.js from elsewhere.",
        "a.html links to b.html#end, which is not there.",
        "a.html links to d.html, which is not there.",
        "a.html links to c.png, which is not there.",
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site, built without making its figures anew; once, however many processes test."""
    for name in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme"):
        pytest.importorskip(name)
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (shared / "site.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds would write and delete the same pages
        if not (shared / "site" / "index.html").exists():
            build_site(shared / "site")
    return shared / "site"


def build_site(folder):
    command = [sys.executable, "docs/make_site.py", "--no-figures", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0 and "Built" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_formulas_are_mathml(site):
    paper = read(site / "docs" / "paper.html")
    assert paper.count("<math") > 200 and "\\beta" not in re.sub(r"<code.*?</code>", "", paper)
    assert 'id="mallowmix.fit"' in read(site / "docs" / "generated" / "mallowmix.fit.html")


# elements that are wider than the text and do not lie in something that scrolls by itself
TOO_WIDE = """() => {
  const article = document.querySelector(".bd-article");
  const edge = Math.min(innerWidth, article.getBoundingClientRect().right) + 1;
  const scrolls = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
  const inside = e => e !== article && (scrolls(e) || inside(e.parentElement));
  return [...article.querySelectorAll("*")]
    .filter(e => e.getBoundingClientRect().right > edge && !inside(e.parentElement))
    .map(e => `${e.tagName} ${e.textContent.slice(0, 40)}`);
}"""


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_on_a_desktop_and_on_a_phone_and_ask_no_other_host(site, width):
    """Wide tables, code and formulas scroll by themselves; the page does not."""
    api = pytest.importorskip("playwright.sync_api")
    names = (
        "index",
        "tutorials/arena",
        "api",
        "generated/mallowmix.fit",
        "paper",
        "limits",
        "cli",
        "web",
    )
    with serving(site) as home, api.sync_playwright() as playwright:
        context = launch(playwright).new_context(viewport={"width": width, "height": 900})
        wrong = watch(context, home)
        page = context.new_page()
        for name in names:
            page.goto(f"{home}docs/{name}.html")
            assert page.locator("h1").first.is_visible()
            assert page.evaluate(TOO_WIDE) == [], name
        page.goto(f"{home}docs/limits.html")
        page.add_style_tag(content=".bd-article p { min-width: 2000px }")
        assert page.evaluate(TOO_WIDE)  # what does not fit would be noticed
        assert [each for each in wrong if "figures/made" not in each and "404" not in each] == []


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A folder as a site on this machine, and its address."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
