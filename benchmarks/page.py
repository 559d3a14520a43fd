"""Write docs/benchmarks.md from the result files: `python -m benchmarks.page`.

A test compares the two.

Seconds stay in the files: they belong to one machine. The page has ratios to what ran beside us.
"""

from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.page_tables import (
    Result,
    cpu_table,
    floor_table,
    foldin_table,
    growth_table,
    many_cores_table,
    readers_table,
    speed_table,
    starting_table,
    threads_table,
)
from benchmarks.record import RESULTS, load

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

_START = """# Benchmarks

<!-- Written by benchmarks/page.py from benchmarks/results: run the benchmarks, not an editor. -->

Speed, memory and error beside what one would use instead, on the same data in the same run. The
data are drawn from a planted model with random reference rankings; the error is the fraction of
pairs in the wrong order, after matching, where a random ranking has .5. `none`, `short` and `full`
are the levels of `refine` of `mallowmix.fit`. Only ratios are shown: seconds belong to one machine,
and stand in `benchmarks/results`. To measure on yours, in about 25 minutes:

```bash
make bench
```
"""
_NOT_RUN = "This benchmark has not been run.\n"


def page(folder: Path = RESULTS) -> str:
    """The whole page, from the result files in `folder`."""
    sections = [
        _section(title, words, load(name, folder), write) for name, title, words, write in SECTIONS
    ]
    return "\n".join([_START, *sections])


def _section(title: str, words: str, result: Result | None, write: Any) -> str:
    body = _NOT_RUN if result is None else f"{write(result)}\n{_circumstances(result)}\n"
    return f"## {title}\n\n{words.strip()}\n\n{body}"


def _circumstances(result: Result) -> str:
    about, setting = result["about"], result.get("setting", {})
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    versions = fill(
        f"Python {about['python']}, {packages}; {about['cores']} cores, {about['processor']}.", 100
    )
    if "n_items" not in setting:
        return versions
    planted = (
        f"Q = {setting['n_items']}, K = {setting['n_components']}, N = {setting['per_user']}, "
        f"φ = {setting['phi']:g}, α = {setting['alpha']:g} each"
    )
    return f"{planted}.\n{versions}"


SECTIONS = (
    (
        "speed",
        "Beside the peers",
        """
Topic models of other packages are given the ordered pairs as words, the true α, and two threads.
Each trains until the likelihood of people whom it has not seen (half of their comparisons given,
the other half predicted) has not risen by 0.0001 a comparison for three checks; then Algorithm 4
(`mallowmix.components_from_topics`) reads the rankings off its topics. The clock leaves out the
checks, the conversion of the data, and everything after the best check. "At most" marks a peer that
was still improving when its time was over. `projections` is the paper's method. EM from random
starts, the best of up to three by its bound, is there for its error alone. gensim has two classes,
the plain `LdaModel` and `LdaMulticore`.
""",
        speed_table,
    ),
    (
        "floor",
        "Above the floor",
        """
The floor is one product of the users × ordered pairs matrix (scipy, compressed rows, float64, one
thread) with K + 10 columns, about what a single pass over the data costs. Then, where the time
goes: passes over the people by the name of their step, other work by module.
""",
        floor_table,
    ),
    (
        "cpu_seconds",
        "One core",
        """
`python -m benchmarks.cpu_seconds --data DIR --earlier DIR`: CPU-seconds of full fits on one thread,
in units of one product of the users × ordered pairs matrix with 20 columns on the same data.
Planted: Q = 100, N = 100, φ = 0.2, α = 0.1 each; one ranking of Q = 200. Films: MovieLens, the most
rated; ballots: Dublin West. The first version, which had no predictor and one initialisation, is
commit f46a1ce. Nothing else ran.
""",
        cpu_table,
    ),
    (
        "growth",
        "Growth",
        """
Time as the comparisons or the items become more, and peak resident memory over a warmed-up process:
the data and the fit together. What is allowed is 40 bytes a comparison and 100 · W · K bytes, W =
Q(Q − 1). Each row is a process of its own.
""",
        growth_table,
    ),
    ("threads", "Two threads", "The same fit with one thread and with two.", threads_table),
    (
        "many_cores",
        "Many cores",
        """
`python -m benchmarks.many_cores`, on a virtual machine of 16 cores that did nothing else: how many
times as fast as on one core, and how many times as fast a loop of arithmetic is there, which reads
no memory. Learning from ten million comparisons begins with a sample of four million.
""",
        many_cores_table,
    ),
    (
        "foldin",
        "People",
        """
`mallowmix.weights` for people whom the model was not learnt from, in units of one product of their
users × ordered pairs matrix with K + 10 columns (scipy, one thread): the most likely weights, and
the posterior mean. Then the same for one person, on arrays, in units of `numpy.linalg.solve` with a
matrix of 100 × 100.
""",
        foldin_table,
    ),
    (
        "readers",
        "Reading",
        """
An Arrow table of text (100,000 people, 1,000 items) in units of what pyarrow's `dictionary_encode`
needs to hash its three columns, on the same table in the same run: processor time, the least of
five. Then ratings, ten a person, that become comparisons: what the process holds at its peak beyond
the ratings and the comparisons.
""",
        readers_table,
    ),
    (
        "starting",
        "Starting",
        """
`python -m benchmarks.starting`: what commands on the dishes (600 people, 16 dishes) cost in a
process of their own with compiled kernels, in units of `mallowmix --help`: processor time, the
least of a few runs. Then, in the same unit, a process that imports the package, fits the dishes and
compiles all that it needs, without and with a predictor; and the kernels of them: those of the
model, what the predictor adds, then what `weights` and `rank` add.
""",
        starting_table,
    ),
)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
