"""Uses the package that ariadne-codegen generates; see test_clients.py."""

import sys

from generated import Client

client = Client(f"{sys.argv[1]}/graphql", headers={"Authorization": f"Bearer {sys.argv[2]}"})
# On a slow machine, a request may take longer than the default of 5 s.
made = client.create_post(title="From ariadne-codegen", fields={"body": "typed"}, timeout=60)
assert made.create_content_entry.success, made.create_content_entry.message

page = client.posts(limit=2, timeout=60).content_entries
limit: int = page.pagination.limit
for entry in page.data:
    assert isinstance(entry.fields, dict)
    print(limit, entry.slug, entry.fields["body"], entry.created_at.year)
