"""Live queries: the records they find now, and later changes of these, as far as the project's rules let the caller
read them.
"""
