"""Links of a built site: each must lead somewhere, and nothing may be loaded from elsewhere."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser fetches by itself
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("source", "src"),
    ("iframe", "src"),
}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what a tag names and where it leads."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in _LOADED and value:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def site_problems(site: Path) -> list[str]:
    """A sentence for every link that leads nowhere, and for everything that is loaded from outside.

    Parameters
    ----------
    site : Path
        The folder of a built site.
    """
    pages = {
        file.resolve(): Page(file.read_text(encoding="utf-8"))
        for file in site.rglob("*.html")
        if "_static" not in file.parts  # parts of the theme, no pages
    }
    return [
        f"{file.relative_to(site.resolve()).as_posix()} {problem}"
        for file, page in sorted(pages.items())
        for problem in _page_problems(file, page, pages)
    ]


def _page_problems(file: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for target in page.loads:
        if urlsplit(target).netloc:
            yield f"loads {target} from elsewhere."
    for target in dict.fromkeys([*page.links, *page.loads]):
        if not _leads_somewhere(target, file, pages):
            yield f"links to {target}, which is not there."


def _leads_somewhere(target: str, file: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target == "#":
        return True
    aim = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not aim.is_file():
        return False
    return not parts.fragment or aim not in pages or unquote(parts.fragment) in pages[aim].anchors
