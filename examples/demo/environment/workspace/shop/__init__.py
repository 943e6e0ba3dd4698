"""Orders of a small shop."""

from shop.order import Line, Order
from shop.shipping import FREE_FROM, RATE, shipping

__all__ = ["FREE_FROM", "RATE", "Line", "Order", "shipping"]
