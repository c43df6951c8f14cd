"""The way of a request through the files of `service/`, counted: `scripts/walk --help`."""
