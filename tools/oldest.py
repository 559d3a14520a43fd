"""The oldest packages that pyproject.toml allows, as constraints for pip: `make oldest`.

    python -m tools.oldest [EXTRA ...]

prints a line for each package that has a lower bound, `numpy==2.2` for `numpy>=2.2`: of what
mallowmix needs always, and of the extras that are named (and those that they name). What these
packages need themselves is left to pip.
"""

import argparse
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
_BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,-]+)\])?(?:>=(?P<least>[\d.]+))?")


def lower_bounds(project: dict[str, Any], extras: Sequence[str] = ()) -> dict[str, str]:
    """The least version of each package that a project and some of its extras need.

    Parameters
    ----------
    project : dict
        The table `project` of a pyproject.toml.
    extras : sequence of str
        Names of its extras.

    Returns
    -------
    dict
        From names to versions; where two lines bound a package, the greater bound.
    """
    least: dict[str, str] = {}
    for line in _lines(project, extras):
        found = _BOUND.fullmatch(line.replace(" ", ""))
        if not found or not found["least"]:
            raise ValueError(f"{line!r} is not a package with one lower bound, as in numpy>=2.2.")
        name, version = found["name"].lower(), found["least"]
        least[name] = max(version, least.get(name, "0"), key=_parts)
    return dict(sorted(least.items()))


def _lines(project: dict[str, Any], extras: Sequence[str]) -> Iterator[str]:
    """Lines of the project and of extras; `mallowmix[plots,web]` stands for those of two."""
    yield from project["dependencies"]
    asked, seen = list(extras), set[str]()
    while asked:
        extra = asked.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for line in project["optional-dependencies"][extra]:
            found = _BOUND.match(line)
            if found and found["name"] == project["name"]:
                asked += (found["extras"] or "").split(",")
            else:
                yield line


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main() -> None:
    """Print the constraints."""
    parser = argparse.ArgumentParser("python -m tools.oldest", description=__doc__)
    parser.add_argument("extras", nargs="*")
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    found = lower_bounds(tomllib.loads(text)["project"], parser.parse_args().extras)
    print("\n".join(f"{name}=={version}" for name, version in found.items()))


if __name__ == "__main__":
    main()
