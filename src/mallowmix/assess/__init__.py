"""How good a model is and how far it can be relied on: other systems, scores, intervals."""
