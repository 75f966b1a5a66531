"""Uses the models that datamodel-codegen generates; see test_clients.py."""

import json
import sys
import urllib.request

import whole
from products import Products, ProductsSize

request = urllib.request.Request(
    f"{sys.argv[1]}/v1/content/products/first",
    headers={"Authorization": f"Bearer {sys.argv[2]}"},
)
with urllib.request.urlopen(request) as response:
    body = json.load(response)
entry = Products.model_validate(body["data"])
price: float | None = entry.fields.price
print(entry.slug, price, entry.fields.size == ProductsSize.SMALL)
print(whole.ProductsBody.model_validate(body).data.fields.price)
