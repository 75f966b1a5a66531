"""Whether an address can be listened on, found out before anything is started for it."""

from __future__ import annotations

import socket

from deploy.failures import Failed


def check_port(host: str, port: int) -> None:
    """Raise Failed where the address is in use, or is none of this machine."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        raise Failed(
            f"{host}:{port} cannot be listened on ({error.strerror}): "
            "choose another with --port or CONTENTLOG_PORT"
        ) from None


def base_url(host: str, port: int) -> str:
    """Where a process that listens there is reached from this machine."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
