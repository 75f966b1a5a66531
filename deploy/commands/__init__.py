"""One module a command of the command line; each has a `command`."""
