"""Figures, measured side by side in one run; targets stand beside them."""
