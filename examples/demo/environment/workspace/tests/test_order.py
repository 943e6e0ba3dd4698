from decimal import Decimal

from shop import RATE, Line, Order


def order(price: str, voucher: int = 0) -> Order:
    return Order((Line(Decimal(price)),), voucher)


def test_lines_add_up():
    lines = (Line(Decimal("1.50"), 2), Line(Decimal("7.00")))
    assert Order(lines).goods == Decimal("10.00")


def test_a_voucher_is_rounded_to_the_cent():
    assert order("9.99", voucher=5).reduced == Decimal("9.49")


def test_an_order_at_the_limit_ships_free():
    assert order("50.00").total == Decimal("50.00")


def test_shipping_is_charged_when_the_voucher_brings_an_order_below_the_limit():
    assert order("52.00", voucher=10).total == Decimal("46.80") + RATE
