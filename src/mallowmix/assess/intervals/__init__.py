"""How sure a model is of its positions, dispersions and shares."""
