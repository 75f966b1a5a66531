"""The OpenAPI 3.1 document, with schemas from the wire Structs, and its page."""
