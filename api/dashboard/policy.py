"""The headers that keep the dashboard's pages to themselves (``on_response_prepare``)."""

from __future__ import annotations

from aiohttp import web

# No inline script, style or handler, and nothing of another host: what an entry's text smuggles
# into a page can do nothing there.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def add_dashboard_policy(request: web.Request, response: web.StreamResponse) -> None:
    """Whatever made the response."""
    path = request.rel_url.path_safe
    if path == "/dashboard" or path.startswith("/dashboard/"):
        response.headers.update(_HEADERS)
