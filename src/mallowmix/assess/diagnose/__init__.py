"""What a model rests on, and how far it can be relied on."""
