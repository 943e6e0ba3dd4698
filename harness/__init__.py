"""WHO asks: the agent loop, tools, the call pipeline, the record and the command line."""
