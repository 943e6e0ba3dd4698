"""What shipping costs."""

from decimal import Decimal

RATE = Decimal("4.90")
FREE_FROM = Decimal("50.00")


def shipping(worth: Decimal) -> Decimal:
    """Shipping for goods of some worth."""
    if worth == 0 or worth >= FREE_FROM:
        return Decimal(0)
    return RATE
