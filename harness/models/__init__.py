"""Models that answer. Each is imported from its own module, so that none loads another's needs."""
