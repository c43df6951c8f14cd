"""Mails with codes and links, and what is done with them, over HTTP."""
