"""Run the notebooks in examples/ and keep what they show: python -m tools.notebooks

Every code cell runs in one namespace, as in Jupyter, which is not needed: text that is printed, and
the value of a last expression as HTML or text, become the outputs of the cell.
"""

import ast
import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs; an error in a cell is raised."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        number += 1
        outputs = _outputs("".join(cell["source"]), namespace, number)
        cells.append(cell | {"execution_count": number, "outputs": outputs})
    return notebook | {"cells": cells}


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        found.append(shown | {"data": _shown(value)})
    return found


def _shown(value: Any) -> dict[str, list[str]]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", None)
    return data if html is None else data | {"text/html": html().splitlines(keepends=True)}


def main() -> None:
    """Run all notebooks in place."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = executed(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {len(notebook['cells'])} cells")


if __name__ == "__main__":
    main()
