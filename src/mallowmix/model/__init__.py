"""The model: Mallows components, M4, what follows from its parameters, and its file."""
