"""Figure 3."""
