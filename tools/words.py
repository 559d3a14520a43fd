"""Words that have a better one in the field.

`make lint` finds them in code, docstrings, messages and docs.

The glossary is in docs/notation.md. A line that must keep such a word (a name in an old file
format, a quotation) ends with the comment "words: ok".
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ALLOWED = "words: ok"

# pattern: instead, and where it is fine all the same
EVERYWHERE: dict[str, str] = {
    r"foretell\w*|foretold": "predict, predicted",
    r"told": "given, said, shown",
    r"dealt": "split",
    r"deal(?:s|ing)? out": "split",
    r"lens|lenses": "prepared model",
    r"hush(?:ed|es)?": "quiet",
    r"mend(?:s|ed|ing)?": "fix, correct",
    r"climb(?:s|ed|ing)?": "ascent, ascend",
    r"settle(?:s|d)?|settling|unsettled": "converge, burn in",
    r"wrong tops?": "local optimum",
    r"further fits?": "ensemble, members",
    r"starting points?": "initialisation",
}
# in identifiers, docstrings and messages of the library and the command line, and in reference docs
LIBRARY: dict[str, str] = {
    r"places?": "position",
    r"everybody": "all users",
    r"tastes?": "component",
    r"trust(?:s|ed)?": "calibration, rely",
}
# the plain voice for lay readers: the HTML report, the web pages, the built-in data, README
PLAIN = (
    "src/mallowmix/report/",
    "src/mallowmix/web/",
    "src/mallowmix/datasets.py",
    "src/mallowmix/cli/demo.py",
    "README.md",
    "docs/index.md",
    "docs/first_hour.md",
    "docs/tutorials/",
    "docs/report.md",
    "docs/web.md",
    "docs/people.md",
)
IDIOMS = re.compile(
    r"in (?:the |its |their )?place of|takes? (?:the|its|their) places?|took (?:the|its) place|"
    r"in one place|in place\b|all over the place|placeholder|in the first place|first place|"
    r"trusted[-_ ]prox(?:y|ies)|"
    r"decimal places|place-?holder|no place|one place|marketplace|replace",
    re.IGNORECASE,
)


def banned_words(root: Path, file: Path) -> Iterator[tuple[int, str, str]]:
    """(line, word, instead) for each such word of a file."""
    where = file.relative_to(root).as_posix()
    words = dict(EVERYWHERE)
    if not where.startswith(PLAIN):
        words |= LIBRARY
    pattern = re.compile(
        rf"(?<![A-Za-z])(?:{'|'.join(f'({word})' for word in words)})(?![A-Za-z])", re.I
    )
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if ALLOWED in line:
            continue
        for match in pattern.finditer(IDIOMS.sub("", line)):
            index = next(i for i, group in enumerate(match.groups()) if group is not None)
            yield number, match[0], list(words.values())[index]


def main() -> int:
    """Print every such word; the exit code says whether there was one."""
    files = [
        HERE / "README.md",
        HERE / "CHANGELOG.md",
        HERE / "CONTRIBUTING.md",
        *sorted((HERE / "docs").rglob("*.md")),
        *sorted((HERE / "src").rglob("*.py")),
    ]
    found = 0
    for file in files:
        for line, word, instead in banned_words(HERE, file):
            print(f"{file.relative_to(HERE)}:{line}: {word!r}, better: {instead}")
            found += 1
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
