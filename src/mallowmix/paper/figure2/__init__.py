"""Figure 2: the geometry of three components."""
