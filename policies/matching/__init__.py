"""Matching: one command against one line, in time linear in its length."""
