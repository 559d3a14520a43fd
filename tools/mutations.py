"""Mutants of a source file: one small change each, of a kind that hides in formulas."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

_SWAPS = re.findall(
    r"(\w+) (\w+)",
    "Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod Mult, Pow Mult, LShift RShift, "
    "RShift LShift, BitAnd BitOr, BitOr BitAnd, BitXor BitAnd, And Or, Or And, Eq NotEq, NotEq Eq, "
    "Lt LtE, Lt GtE, LtE Lt, LtE Gt, Gt GtE, Gt LtE, GtE Gt, GtE Lt, Is IsNot, IsNot Is, "
    "In NotIn, NotIn In",
)
_TYPE = re.compile(r"(None|str|int|float|bool|bytes|([a-z]+\.)?[A-Z]\w*[a-z]\w*)(\[.+\])?")
_UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a module, which were `old`, become `new`."""

    id: str  # stays when other lines of the module change
    module: str
    line: int
    kind: str
    start: int
    end: int
    old: str
    new: str

    def made_in(self, source: bytes) -> bytes:
        """The source with this change; all lines below keep their numbers."""
        gone = "\n" * (self.old.count("\n") - self.new.count("\n"))
        new = f"{self.new[:-1]}{gone})" if self.new.endswith(")") else self.new + gone
        return source[: self.start] + new.encode() + source[self.end :]


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """All mutants of a module; types, and what only an error says, stay as they are."""
    lines, found = source.splitlines(keepends=True), []
    starts, seen = [0, *accumulate(map(len, lines))], Counter[str]()
    for node in _nodes(ast.parse(source)):
        for changed in _changes(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            new, old = ast.unparse(changed), source[start:end].decode()
            new = new if isinstance(node, ast.stmt) else f"({new})"
            kind, line = type(node).__name__, lines[node.lineno - 1].decode().strip()
            name = f"{module}:{line}:{kind}:{old}:{new}"
            seen[name] += 1
            name = f"{name}:{seen[name]}"
            found.append(Mutant(name, module, node.lineno, kind, start, end, old, new))
    return found


def _nodes(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
        return  # its numbers are names
    for name, value in ast.iter_fields(node):
        inside = name not in ("annotation", "returns", "decorator_list")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and inside and not _untouched(child):
                yield child
                yield from _nodes(child)


def _untouched(node: ast.AST) -> bool:
    match node:
        case ast.keyword(arg="strict"):  # of zip, which asserts
            return True
        case ast.BinOp(op=ast.BitOr()):
            return all(map(_TYPE.fullmatch, ast.unparse(node).split(" | ")))
        case _:
            return isinstance(node, _UNTOUCHED)


def _changes(node: Any) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            yield from (type(node)(**vars(node) | {"op": op}) for op in _swapped(node.op))
        case ast.Compare(left, ops, others):
            for n, op in enumerate(ops):
                for new in _swapped(op):
                    yield ast.Compare(left, [*ops[:n], new, *ops[n + 1 :]], others)
        case ast.UnaryOp(ast.USub() | ast.Invert() | ast.Not(), operand):
            yield operand
        case ast.Constant(bool() | int() | float() as value):
            others = {bool: not value, int: value + 1, float: 2 * value or 1.0}
            yield ast.Constant(others[type(value)])
        case ast.Return(ast.AST()):
            yield ast.Return(ast.Constant(None))


def _swapped(op: ast.AST) -> list[ast.AST]:
    return [getattr(ast, new)() for old, new in _SWAPS if old == type(op).__name__]
