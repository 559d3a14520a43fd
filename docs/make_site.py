"""Build the site into build/site: `make docs`.

Figures first, then Sphinx, for which every warning is an error; then the pages are read again:
every link inside the site must lead to a page and a heading, and nothing may be loaded from
elsewhere.
"""

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SITE = ROOT / "build" / "site"
START = "docs/index.html"  # pages are where they are in the repository, so the first one is here
sys.path[:0] = [str(DOCS), str(ROOT)]

from tools.site_links import site_problems  # noqa: E402

_REDIRECT = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mallowmix</title>
<meta http-equiv="refresh" content="0; url={START}"></head>
<body><a href="{START}">mallowmix</a></body></html>
"""


def build(site: Path, *more: str) -> int:
    """Run Sphinx from nothing; its exit code."""
    shutil.rmtree(DOCS / "generated", ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    cache = site.with_name(f"{site.name}-cache")
    options = ["-c", str(DOCS / "site"), "-d", str(cache), "-b", "html", "-E", "-W", "-q"]
    code = build_main([*options, *more, "--keep-going", str(ROOT), str(site)])
    if not code:
        (site / "index.html").write_text(_REDIRECT, encoding="utf-8")
    return code


def main() -> int:
    """Build and check; the exit code says whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-figures", action="store_true", help="take the figures there are")
    parser.add_argument("--output", type=Path, default=SITE)
    given = parser.parse_args()
    if not given.no_figures:
        from make_figures import main as make_figures

        make_figures()
    may_lack = ["-D", "suppress_warnings=image.not_readable"] if given.no_figures else []
    if code := build(given.output.resolve(), *may_lack):
        return code
    found = [
        problem
        for problem in site_problems(given.output)
        if not (given.no_figures and "figures/made" in problem)
    ]
    print("\n".join(found) if found else f"Built {given.output / 'index.html'}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
