"""`scripts/idp`: the test provider by hand, with the lines that configure a project against it."""

import argparse
import time

from faults.provider import ACCOUNTS, CLIENT_ID, CLIENT_SECRET, running_provider

HELP = """\
The provider answers at {base}. Configure a project against it:

  auth-collections project set PROJECT \\
    IDP_ISSUER={issuer} \\
    IDP_CLIENT_ID='{client_id}' IDP_CLIENT_SECRET='{client_secret}' \\
    IDP_REDIRECT_URL={service}/auth-collections/auth-idp-redirect/PROJECT \\
    IDP_COMPLETE_URL={service}/health/live

Then open the URL that this prints:

  curl '{service}/auth-collections/login-idp?project_id=PROJECT'

Accounts: {accounts}
Ctrl-C ends it."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/idp", description=__doc__)
    parser.add_argument("--port", type=int, default=9400)
    parser.add_argument("--service", default="http://127.0.0.1:8000", help="the base URL of the service")
    arguments = parser.parse_args()
    with running_provider(arguments.port) as provider:
        print(  # noqa: T201 - the command's output
            HELP.format(
                base=provider.base,
                issuer=provider.issuer(),
                service=arguments.service,
                client_id=CLIENT_ID,
                client_secret=CLIENT_SECRET,
                accounts=", ".join(ACCOUNTS),
            ),
            flush=True,
        )
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
