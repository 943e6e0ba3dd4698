#!/bin/bash
set -eu
sed -i 's/shipping(self\.goods)/shipping(self.reduced)/' shop/order.py
