"""Tests of backups: the file, its making and its verification."""
