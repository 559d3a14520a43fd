"""A package below `src` and its tests: which modules there are, and which test files touch them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# a process of its own does not see a mutant
_OTHER = re.compile(r"tools\b|subprocess\b|benchmarks\.(web|fault)|.*\b(browser|web_process)\b")


class Project:
    """A package below `src`, its tests, and who imports what."""

    def __init__(self, root: Path, package: str) -> None:
        self.root, self.package, self.source = root, package, root / "src"
        files = {file.relative_to(self.source): file for file in self.source.rglob("*.py")}
        self.modules = {_dotted(name): file for name, file in files.items()}
        stub = self.source / package / "__init__.pyi"  # of names as in mm.fit
        given = re.findall(r"from \.(\S+) import (\w+)", stub.read_text() if stub.exists() else "")
        self._public = {f"{package}.{name}": f"{package}.{module}" for module, name in given}
        self._used = {name: self._imports(file) for name, file in self.modules.items()}
        tests = sorted(root.glob("tests/test_*.py"))
        self._tests = {str(test.relative_to(root)): self._imports(test) for test in tests}
        self._texts = {name: (root / name).read_text(encoding="utf-8") for name in self._tests}

    def _imports(self, file: Path) -> set[str]:
        names: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{a.name}" for a in node.names} | {str(node.module)}
            elif isinstance(node, ast.Import):
                names |= {a.name for a in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add(f"{self.package}.{node.attr}")
        return {self._public.get(name, name) for name in names}

    def importers(self, module: str) -> Iterator[set[str]]:
        """The module, then the modules that import it, then those that import these, …"""
        level, seen = {module}, set()
        while level:
            yield level
            seen |= level
            level = {name for name, used in self._used.items() if used & level} - seen

    def test_files(self, parts: tuple[str, ...]) -> list[str]:
        """Those that use a module of these parts, and start no server, browser, tool or process."""
        return [
            name
            for name, used in self._tests.items()
            if not any(map(_OTHER.match, used)) and any(each.startswith(parts) for each in used)
        ]

    def naming(self, function: str) -> set[str]:
        """Test files in which the name of a function stands."""
        word = re.compile(rf"\b{function}\b")
        return {name for name in self._tests if function and word.search(self._texts[name])}

    def near(self, module: str) -> set[str]:
        """Test files that import a module, or have its name; else those of what imports it."""
        word, tests = module.rpartition(".")[2], self._tests
        named = {name for name in tests if word in name}
        levels = (
            {name for name in tests if tests[name] & level} for level in self.importers(module)
        )
        return named | next(filter(None, levels), set())


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")
