"""Value types: what a word, or the value of an option, may be."""
