"""An order: lines, a voucher, and what it comes to."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from shop.shipping import shipping

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    """Some pieces of one article."""

    price: Decimal
    pieces: int = 1


@dataclass(frozen=True)
class Order:
    """What a customer takes, with a voucher in per cent."""

    lines: tuple[Line, ...] = ()
    voucher: int = 0

    @property
    def goods(self) -> Decimal:
        """The goods at full price."""
        return sum((line.price * line.pieces for line in self.lines), Decimal(0))

    @property
    def reduced(self) -> Decimal:
        """The goods after the voucher."""
        off = self.goods * self.voucher / 100
        return self.goods - off.quantize(CENT, ROUND_HALF_UP)

    @property
    def total(self) -> Decimal:
        """What the customer pays."""
        return self.reduced + shipping(self.goods)
