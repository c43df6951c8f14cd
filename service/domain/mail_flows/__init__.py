"""Codes and links that are mailed to users: they are opened, sent, judged and spent."""
