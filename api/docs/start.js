"use strict";

// The theme that was chosen in the dashboard, else the system's.
function followTheme() {
  let chosen = null;
  try {
    chosen = localStorage.getItem("contentlog-theme");
  } catch {
    // Without storage, the system's theme applies.
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const isDark = chosen ? chosen === "dark" : system.matches;
    document.documentElement.classList.toggle("dark-mode", isDark);
  };
  system.addEventListener("change", apply);
  apply();
}

const VALUES = {
  text: () => "A text",
  rich_text: () => "<p>A text</p>",
  number: () => 7,
  boolean: () => true,
  datetime: () => "2026-01-31",
  json: () => ({}),
  select: (field) => field.options?.[0]?.value,
};

// A value that the field accepts, or undefined. References are to one of the entries given.
function exampleOf(field, entries) {
  const value = VALUES[field.type]
    ? VALUES[field.type](field)
    : entries.find((entry) => field.to?.includes(entry.contentType.slug))?.id;
  return field.multiple && value !== undefined ? [value] : value;
}

function withExamples(spec, entries, type) {
  const entry = entries.find((one) => one.contentType.slug === type.slug && one.status === "published");
  const { parameters } = spec.components;
  const examples = { type: type.slug, ofType: type.slug, typeSlug: type.slug, slug: entry?.slug, language: entry?.language };
  for (const [name, example] of Object.entries(examples)) {
    if (example && parameters[name]?.example !== undefined) parameters[name].example = example;
  }
  const fields = type.fields
    .filter((field) => field.required)
    .map((field) => [field.slug, exampleOf(field, entries)])
    .filter(([, value]) => value !== undefined);
  const body = spec.paths["/v1/content"].post.requestBody.content["application/json"];
  body.example = { contentTypeSlug: type.slug, title: "Hello, World!", fields: Object.fromEntries(fields) };
  return spec;
}

// Fill in the examples with what the key's workspace has.
async function prefill(system, key) {
  const get = async (path) => {
    const response = await fetch(path, { headers: { Authorization: `Bearer ${key}` } });
    return response.ok ? (await response.json()).data : [];
  };
  const [entries, types] = await Promise.all([get("v1/content?limit=50"), get("v1/content-types")]);
  const used = entries.find((entry) => entry.status === "published")?.contentType.slug;
  const type = types.find((one) => one.slug === used) ?? types[0];
  if (!type) return;
  system.specActions.updateJsonSpec(withExamples(system.specSelectors.specJson().toJS(), entries, type));
}

// Swagger UI fills in a sample of an object that has no example, and would send it.
function withEmptyFilters(spec) {
  for (const parameter of Object.values(spec.components?.parameters ?? {})) {
    if (parameter.style === "deepObject") parameter.example = "{}";
  }
  return spec;
}

const prefilling = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (spec) => update(withEmptyFilters(spec)),
      },
    },
    auth: {
      wrapActions: {
        authorize: (authorize, system) => (given) => {
          const [{ value }] = Object.values(given);
          // The examples of the document stay where the service does not respond.
          if (typeof value === "string") prefill(system, value).catch(() => {});
          return authorize(given);
        },
      },
    },
  },
});

followTheme();
SwaggerUIBundle({
  url: "v1/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  plugins: [prefilling],
  validatorUrl: null, // nothing of the document goes to another host
});
