"""The paper's experiments, a folder for each figure or table, and the bounds of its theory."""
