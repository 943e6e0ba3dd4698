"""HOW it runs: the contract of boxes, the supervisor inside them and its client."""
