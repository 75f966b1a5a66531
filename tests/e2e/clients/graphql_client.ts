// Written against the documents that graphql-codegen generates; see test_clients.py.
import { print } from "graphql";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { CreatePostDocument, PostsDocument } from "./gql/graphql";

const [, , url, key] = process.argv;

async function send<R, V>(document: TypedDocumentNode<R, V>, variables: V): Promise<R> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const answer = (await response.json()) as { data: R; errors?: unknown[] };
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
}

async function main(): Promise<void> {
  const made = await send(CreatePostDocument, {
    title: "From graphql-codegen",
    fields: { body: "typed" },
  });
  if (!made.createContentEntry.success) throw new Error(made.createContentEntry.message);
  const { contentEntries } = await send(PostsDocument, { limit: 2 });
  const limit: number = contentEntries.pagination.limit;
  for (const entry of contentEntries.data) {
    const createdAt: string = entry.createdAt;
    const fields = entry.fields as { body: string };
    console.log(limit, entry.slug, fields.body, createdAt.length);
  }
}

void main();
