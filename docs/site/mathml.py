"""Formulas as MathML, which browsers draw themselves: no script, no font from elsewhere."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# docutils has no dots that look at what comes next
_DOTS = re.compile(r"\\dots(?![a-z])")


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer `mathml` to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def as_mathml(tex: str, *, block: bool) -> str:
    """One formula."""
    return tex2mathml(_DOTS.sub(r"\\ldots", tex), as_block=block)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(as_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{as_mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode
