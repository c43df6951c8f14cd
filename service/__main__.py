"""The command line's entry: `python -m service` and the console script `auth-collections`."""

import gc

# Loaded modules stay: looking for garbage among them is a third of the time that a command needs to begin. A command
# that is run turns this on again when its own modules are there.
gc.disable()

from service.cli.main import main  # noqa: E402 - after the line above

if __name__ == "__main__":
    main()
