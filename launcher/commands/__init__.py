"""The sub-commands, grouped by when a person needs them. Each module has `register(app)`."""
