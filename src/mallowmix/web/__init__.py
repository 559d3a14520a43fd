"""The web pages: explore a model, ask people, collect their choices (`mallowmix serve`)."""
