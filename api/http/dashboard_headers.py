"""The security headers of the dashboard's responses."""

from __future__ import annotations

from aiohttp import web

ROOT = "/dashboard"
# No inline script, style or event handler, and nothing from other hosts except thumbnails, so
# markup that an entry's text injects into a page has no effect.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
IMAGE_SOURCES = web.RequestKey("image_sources", frozenset[str])
"""The sources of a page's images of the media library; images of other sources are not loaded."""


def add_security_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Applies to every response below ROOT, including errors."""
    path = request.rel_url.path_safe
    if path == ROOT or path.startswith(f"{ROOT}/"):
        response.headers.update(_HEADERS)
        if sources := request.get(IMAGE_SOURCES):
            allowed = " ".join(("img-src 'self'", *sorted(sources)))
            policy = CONTENT_SECURITY_POLICY.replace("img-src 'self'", allowed)
            response.headers["Content-Security-Policy"] = policy
