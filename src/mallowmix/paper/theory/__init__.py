"""The bounds of the paper's theory."""
