"""The process box: held by what the kernel gives without a container or another program."""
