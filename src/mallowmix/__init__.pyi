from .comparisons import Comparisons as Comparisons
from .model import M4 as M4
