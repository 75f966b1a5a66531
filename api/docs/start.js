"use strict";

SwaggerUIBundle({
  url: "v1/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null, // nothing of the document goes to another host
});
