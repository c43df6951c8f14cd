"""The audit log: an entry for each change of configuration, and for each write of an operator, with its author."""
