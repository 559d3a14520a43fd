"""The page: explore a model, ask people, collect their choices. One process, one database of votes (`mallowmix serve`)."""
