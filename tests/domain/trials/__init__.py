"""Tests of trials of mail servers and providers."""
