"""The command line's entry: `python -m service` and the console script `auth-collections`."""

from service.cli.main import main

if __name__ == "__main__":
    main()
