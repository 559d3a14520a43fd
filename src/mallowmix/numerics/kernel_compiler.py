"""How Numba compiles the kernels: its own pipeline, without what costs time and changes no result.

A kernel that only other kernels call is compiled as far as linking it in: Numba would optimise it
and make machine code of it alone, and then again as a part of each kernel that calls it, though
nobody ever runs the first. Such a kernel may not raise errors whose arguments are computed, nor
print: what that needs is made ready only for kernels that Python calls.
"""

import gc
from collections.abc import Hashable
from functools import cached_property
from typing import Any

from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import codegen, compiler, compiler_machinery, typed_passes


class SteadyFlags(compiler.Flags):
    """Flags that do not change: Numba compares them tens of thousands of times in a kernel."""

    @cached_property
    def _all(self) -> dict[str, Any]:
        return super().values()

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        """As of other flags."""
        return self._hash

    def values(self) -> dict[str, Any]:
        """All values, put together once."""
        return self._all

    def copy(self) -> compiler.Flags:
        """Flags that can be changed."""
        return compiler.Flags(self)


class KernelFlags(compiler.Flags):
    """Flags whose copy, which Numba looks at while it compiles, is one object for equal values.

    Numba's own functions, such as `np.zeros`, are compiled again for every copy that is different.
    """

    _known: dict[Hashable, SteadyFlags] = {}  # noqa: RUF012 of all kernels

    def copy(self) -> SteadyFlags:
        """The steady twin, the same for kernels that Python calls and for others."""
        steady: Any = SteadyFlags(self)
        steady.no_cpython_wrapper = True
        return self._known.setdefault(repr(sorted(steady.values().items())), steady)


class KernelCompiler(compiler.Compiler):
    """The pipeline of kernels that Python calls: Numba's own, without collecting garbage."""

    def _compile_core(self) -> Any:
        self.state.flags = KernelFlags(self.state.flags)
        collects = gc.isenabled()
        gc.disable()  # millions of objects are made that live to the end
        try:
            return super()._compile_core()
        finally:
            if collects:
                gc.enable()


class LinkedLibrary(codegen.JITCodeLibrary):
    """Code that is only linked into other libraries."""

    def finalize(self) -> None:
        """Put what it calls beside it; the library that it is linked into does the rest."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(typed_passes.NativeLowering):
    """Numba's lowering, into a `LinkedLibrary`."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower, and tell Numba by what object kernels name it that call it."""
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        low = state["cr"]
        name = _dynfunc.make_function(
            low.fndesc.lookup_module(), low.fndesc.qualname, "", 0, low.env, (state.library,)
        )
        state["cr"] = low._replace(cfunc=name)
        state.targetctx.insert_user_function(name, low.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        return True


class LinkedCompiler(KernelCompiler):
    """The pipeline of kernels that only other kernels call."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own, with this lowering in the place of its own."""
        manager = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (LinkedLowering if step is typed_passes.NativeLowering else step, about)
            for step, about in manager.passes
        ]
        manager.finalize()
        return [manager]
