"""The people who run the deployment: their accounts, sessions, tokens and invitations. docs/operators.md."""
