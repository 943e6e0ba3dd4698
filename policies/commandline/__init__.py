"""Plain command lines, read as plans without a shell."""

from policies.commandline.error import LineError
from policies.commandline.reader import HOME, parse_line

__all__ = ["HOME", "LineError", "parse_line"]
