"""The experiments behind the tables and figures: one module each, rows out."""
