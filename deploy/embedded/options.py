"""The server's settings, given on its command line at each start."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from deploy.embedded.sockets import PORT

ALWAYS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_statement": "none",
    "log_min_error_statement": "panic",  # statements carry the content of entries
    "log_checkpoints": "off",
    "jit": "off",
}
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def command_line(
    sockets: Path, access: Mapping[str, str], settings: Mapping[str, str], *, durable: bool
) -> str:
    """What pg_ctl hands to the server, quoted for the shell that it uses."""
    where = {"unix_socket_directories": str(sockets)}
    speed = {} if durable else NOT_DURABLE
    chosen = {**ALWAYS, **speed, **settings, **access, **where}
    return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in chosen.items())
