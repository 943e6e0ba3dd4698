from decimal import Decimal

from shop import RATE, Line, Order


def total(price: str, voucher: int = 0) -> Decimal:
    return Order((Line(Decimal(price)),), voucher).total


def test_a_voucher_can_bring_an_order_below_the_limit():
    assert total("52.00", voucher=10) == Decimal("46.80") + RATE


def test_an_order_at_the_limit_ships_free():
    assert total("50.00") == Decimal("50.00")


def test_an_order_above_the_limit_ships_free_in_spite_of_a_voucher():
    assert total("100.00", voucher=50) == Decimal("50.00")


def test_an_order_below_the_limit_pays():
    assert total("49.99") == Decimal("49.99") + RATE


def test_an_empty_order_costs_nothing():
    assert Order().total == 0
