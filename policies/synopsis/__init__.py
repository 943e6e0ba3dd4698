"""Synopsis lines: their grammar, read and printed."""

from policies.synopsis.error import SynopsisError
from policies.synopsis.parser import parse_synopsis, parse_type

__all__ = ["SynopsisError", "parse_synopsis", "parse_type"]
