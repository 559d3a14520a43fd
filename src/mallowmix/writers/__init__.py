"""Writers: comparisons and rankings in other packages' forms, and voters drawn from a model."""

from mallowmix.writers.files import write_table as write_table
from mallowmix.writers.forms import as_table as as_table
from mallowmix.writers.preflib import preflib_text as preflib_text
from mallowmix.writers.profile import sample_profile as sample_profile
from mallowmix.writers.weak_orders import rankings_of as rankings_of

__all__ = ["preflib_text", "rankings_of", "sample_profile", "as_table", "write_table"]
