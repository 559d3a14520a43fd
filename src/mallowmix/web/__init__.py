"""The web pages: explore a model, ask people, collect their choices (`mallowmix serve`)."""

from mallowmix.data.optional_packages import optional_package

for _name in ("fastapi", "python_multipart", "sqlalchemy", "uvicorn"):
    optional_package(_name, "The page")
