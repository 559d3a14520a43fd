"""How long the kernels of a first fit take to compile: `python -m tools.compile_times`."""

import os
import tempfile


def main() -> None:
    """Compile into an empty cache, and print the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        import mallowmix as mm
        from mallowmix.cli.compile_note import watch_compiling

        spent = [0.0]
        with watch_compiling(spent.append):
            dishes = mm.load_dishes()
            mm.fit(dishes.comparisons, 3)
        print(f"{spent[-1]:.1f} s in {len(spent) // 2} kernels")


if __name__ == "__main__":
    main()
