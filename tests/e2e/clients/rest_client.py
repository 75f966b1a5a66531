"""Uses the package that openapi-python-client generates; see test_clients.py."""

import sys

from generated.api.content import create_entry, list_entries
from generated.client import AuthenticatedClient
from generated.models import (
    CreatedBody,
    EntryStatus,
    NewEntry,
    NewEntryFields,
    TypeListBody,
)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
fields = NewEntryFields.from_dict({"body": "typed"})
entry = NewEntry(content_type_slug="posts", title="From Python", fields=fields)
created = create_entry.sync(client=client, body=entry)
assert isinstance(created, CreatedBody)

listed = list_entries.sync("posts", client=client, limit=2, status=EntryStatus.DRAFT)
assert isinstance(listed, TypeListBody)
limit: int = listed.pagination.limit
for one in listed.data:
    print(limit, one.slug, one.fields["body"])
