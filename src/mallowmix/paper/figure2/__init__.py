"""Figure 2."""
