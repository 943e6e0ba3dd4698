"""WHERE it runs: Dockerfiles by name and the offline builder of base images."""
