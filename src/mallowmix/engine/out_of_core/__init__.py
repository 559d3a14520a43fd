"""Data larger than memory: sorted into a folder once, then read block by block."""
