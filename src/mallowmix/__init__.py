"""mallowmix: learn what a crowd of different people likes from their pairwise choices."""

import lazy_loader as _lazy

from mallowmix._version import __version__ as __version__
from mallowmix.numerics import kernel_cache as _kernel_cache

_kernel_cache.use_writable_cache()

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
