"""The OpenAPI 3.1 document: schemas generated from the wire Structs, paths written out."""
