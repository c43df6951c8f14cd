"""Flows: mailed codes and links, judged and spent."""
