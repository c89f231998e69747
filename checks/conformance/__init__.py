"""The contract that every platform adapter is held to, by tiny real jobs on the target."""
