"""Readers: from tables, files and databases in any form (battles, ratings, …) to `Comparisons`."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
