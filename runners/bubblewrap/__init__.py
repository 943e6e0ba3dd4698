"""The bubblewrap box: all namespaces, a read-only system, file systems in memory."""
