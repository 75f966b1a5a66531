// Written against the types that openapi-typescript generates; see test_clients.py.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function main(): Promise<void> {
  const created = await client.POST("/v1/content", {
    body: { contentTypeSlug: "posts", title: "From TypeScript", fields: { body: "typed" } },
  });
  if (created.error) throw new Error(created.error.error);

  const status: components["schemas"]["EntryStatus"] = "draft";
  const listed = await client.GET("/v1/content/{type}", {
    params: { path: { type: "posts" }, query: { limit: 2, status } },
  });
  if (listed.error) throw new Error(listed.error.error);
  const limit: number = listed.data.pagination.limit;
  for (const entry of listed.data.data) {
    const body: unknown = entry.fields["body"];
    console.log(limit, entry.slug, body);
  }
  // @ts-expect-error an unknown status must not compile
  const wrong: components["schemas"]["EntryStatus"] = "live";
  void wrong;
}

void main();
