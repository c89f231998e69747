"""Hosts reached by the user's own OpenSSH: one connection for each, commands and sockets over it."""
