"""Uses the package that openapi-python-client generates for a workspace; see test_clients.py."""

import sys

from workspace.api.content import create_entry, get_products, list_products
from workspace.client import AuthenticatedClient
from workspace.models import (
    CreatedBody,
    DateRange,
    EntryStatus,
    NewProducts,
    NewProductsFields,
    NewProductsPartsItem,
    NewProductsPartsScrewsItem,
    ProductsBody,
    ProductsListBody,
    ProductsSize,
    ProductsSizeFilter,
    ProductsTagsFilter,
    StatusFilter,
)
from workspace.types import Unset

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
screw = NewProductsPartsScrewsItem(length=3)
fields = NewProductsFields(
    price=12.5,
    size=ProductsSize.SMALL,
    sale=DateRange(from_="2026-01-31", to="2026-02-14"),
    parts=[NewProductsPartsItem(name="Base", screws=[screw])],
)
lamp = NewProducts(content_type_slug="products", title="Lamp", fields=fields)
created = create_entry.sync(client=client, body=lamp)
assert isinstance(created, CreatedBody)

small = ProductsSizeFilter(eq=ProductsSize.SMALL)
assert small.to_dict() == {"eq": "small"}
assert ProductsTagsFilter.from_dict({"contains": "new"}).to_dict() == {"contains": "new"}
assert StatusFilter(ne=EntryStatus.DRAFT).to_dict() == {"ne": "draft"}

listed = list_products.sync(client=client, limit=2, status=EntryStatus.DRAFT)
assert isinstance(listed, ProductsListBody)
for entry in listed.data:
    price: float | None = entry.fields.price
    sale = entry.fields.sale.from_ if entry.fields.sale else None
    screws = entry.fields.parts[0].screws if entry.fields.parts else None
    length = None if isinstance(screws, Unset) or not screws else screws[0].length
    print(entry.slug, price, sale, length, entry.fields.size)

one = get_products.sync("lamp", client=client)
assert isinstance(one, ProductsBody)
print(one.data.content_type.slug, len(one.data.fields.related))
