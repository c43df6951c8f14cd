"""Views: the saved states of grids and charts of the console."""
