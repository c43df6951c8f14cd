"""The command line's entry: `python -m service` and the console script `auth-collections`."""

import gc

# Imported objects live as long as the process; collections among them cost a third of the CPU of an import. Commands turn
# the collector on after their imports (`process`), and so does the application (`app`): each worker imports this.
gc.disable()

from service.cli.main import main  # noqa: E402 - after the line above

if __name__ == "__main__":
    main()
