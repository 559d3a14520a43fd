"""Recovery of planted rankings: our own table."""
