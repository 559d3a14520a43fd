"""How far a model can be trusted: the number of components, intervals, diagnostics, groups of people, two models side by side."""
