"""Flows: codes and links that are mailed to somebody, judged and spent."""
