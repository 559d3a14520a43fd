"""All systems side by side on votes on language models, and on stars for films.

python -m benchmarks.compare_systems --data DIR [--sets llmfao,movielens] [--keep-in DIR]
    writes benchmarks/results/compare_llmfao.json and compare_movielens.json

What is held out is as in `mallowmix.compare`: new people, and half of their items. Each system
chooses its settings and its number of components on the people it learns from. With --keep-in, a
run that was interrupted goes on where it was.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mallowmix as mm
from benchmarks.record import RESULTS, save
from mallowmix.readers.movielens import read_movielens

TOP_ITEMS = 100


def language_models(folder: Path) -> Any:
    """Votes between answers of language models, ties dropped."""
    return mm.read(folder / "llmfao" / "crowd-comparisons.csv", ties="drop").comparisons


def films(folder: Path) -> Any:
    """Stars for the films with most ratings."""
    ratings = read_movielens(folder / "ml-1m")
    columns = {"user": ratings.user, "item": ratings.item, "rating": ratings.rating}
    return mm.read(columns, top_items=TOP_ITEMS).ratings


Options = dict[str, Any]
SETS: dict[str, tuple[Callable[[Path], Any], Options]] = {
    "llmfao": (language_models, {"n_splits": 5}),
    "movielens": (films, {"n_users": 3000, "max_per_user": 150, "n_splits": 1}),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare on each set, and save it as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="holds llmfao/ and ml-1m/")
    parser.add_argument("--sets", type=_names, default=list(SETS))
    parser.add_argument("--systems", type=_names, help="all that apply unless given")
    parser.add_argument("--keep-in", type=Path, help="folder for what each system predicts")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    given = parser.parse_args(arguments)
    for name in given.sets:
        read, options = SETS[name]
        options = options | {"systems": given.systems, "keep_in": given.keep_in, "seed": 0}
        found = mm.compare(read(given.data), **options)
        save(f"compare_{name}", found.to_dict(), given.out)
        for row in found.table:
            loss = "failed" if row.failed else f"{row.log_loss:.4f}"
            print(f"{name:<10} {row.name:<45} {loss}", flush=True)


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
