"""Figure 3: error against the number of users."""
