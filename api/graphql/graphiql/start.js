"use strict";

const { createElement: element, useMemo, useState } = React;

const EXAMPLE = `# Enter an API key above. It is kept as long as this page is open.
{
  contentEntries(limit: 5) {
    pagination { total }
    data { title slug status contentType { name } }
  }
}
`;

function fetcherOf({ key, environment }) {
  return async (asked, { headers = {} } = {}) => {
    if (!key) {
      return { errors: [{ message: "Enter an API key above" }] };
    }
    const answer = await fetch(`graphql?environment=${environment}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(asked),
    });
    return answer.json();
  };
}

function Access({ onChange }) {
  const submit = (event) => {
    event.preventDefault();
    onChange(Object.fromEntries(new FormData(event.target)));
  };
  return element(
    "form",
    { className: "access", onSubmit: submit },
    element("label", null, "API key ", element("input", { name: "key", type: "password", autoComplete: "off" })),
    element(
      "label",
      null,
      "Environment ",
      element("select", { name: "environment" }, element("option", null, "production"), element("option", null, "staging")),
    ),
    element("button", { type: "submit" }, "Use"),
  );
}

function Page() {
  const [access, setAccess] = useState({ key: "", environment: "production" });
  const fetcher = useMemo(() => fetcherOf(access), [access]);
  return element(
    React.Fragment,
    null,
    element(Access, { onChange: setAccess }),
    // Another key makes another editor, which requests its schema.
    element(GraphiQL, { key: JSON.stringify(access), fetcher, defaultQuery: EXAMPLE, shouldPersistHeaders: false }),
  );
}

ReactDOM.createRoot(document.getElementById("graphiql")).render(element(Page));
