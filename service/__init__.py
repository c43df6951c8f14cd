"""A hosted backend on MongoDB: accounts, sign-in, files and declared collections, for many projects in one process."""
