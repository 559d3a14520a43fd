"""Figure 4: held-out comparisons of MovieLens."""
