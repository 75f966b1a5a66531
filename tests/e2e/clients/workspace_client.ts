// Written against the types of a workspace; see test_clients.py.
import createClient from "openapi-fetch";
import type { components, paths } from "./workspace";

type NewProduct = components["schemas"]["NewProducts"];

const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function main(): Promise<void> {
  const lamp: NewProduct = {
    contentTypeSlug: "products",
    title: "Lamp",
    fields: {
      price: 12.5,
      size: "small",
      sale: { from: "2026-01-31", to: "2026-02-14" },
      parts: [{ name: "Base", screws: [{ length: 3, head: "flat" }] }],
    },
  };
  const created = await client.POST("/v1/content", { body: lamp });
  if (created.error) throw new Error(created.error.error);

  const listed = await client.GET("/v1/content/products", {
    params: { query: { limit: 2, status: "draft", "filter[fields.price]": { gte: 1.5 }, "filter[fields.size]": { eq: "small" } } },
  });
  if (listed.error) throw new Error(listed.error.error);
  for (const entry of listed.data.data) {
    const price: number | null = entry.fields.price;
    const from: string | undefined = entry.fields.sale?.from;
    const length: number | null | undefined = entry.fields.parts[0]?.screws?.[0]?.length;
    console.log(entry.slug, price, from, length);
    // @ts-expect-error a price is no string
    const text: string | null = entry.fields.price;
    void text;
  }

  const one = await client.GET("/v1/content/products/{slug}", {
    params: { path: { slug: "lamp" } },
  });
  if (one.error) throw new Error(one.error.error);
  console.log(one.data.data.contentType.slug, one.data.data.fields.related.length);
  // @ts-expect-error the field has no such option
  const huge: components["schemas"]["NewProductsFields"] = { size: "huge" };
  // @ts-expect-error a price has no parts
  const part: components["schemas"]["NumberFilter"] = { contains: "1" };
  // @ts-expect-error the field has no such option
  const wrong: components["schemas"]["ProductsSizeFilter"] = { ne: "huge" };
  // @ts-expect-error there is no such status
  const live: components["schemas"]["StatusFilter"] = { eq: "live" };
  void wrong;
  void live;
  // @ts-expect-error the workspace has no such type
  void client.GET("/v1/content/unknown");
  void huge;
  void part;
}

void main();
