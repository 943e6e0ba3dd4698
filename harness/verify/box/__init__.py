"""Programs that run inside the box of a verification; nothing imports them on the host."""
