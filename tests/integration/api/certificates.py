"""TLS certificates of webhook endpoints: one valid, the others to be refused."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from msgspec import Struct

_CONFIGURATION = """
[ca]
default_ca = authority
[authority]
new_certs_dir = .
database = index
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:TRUE
"""
_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
_YEARS = {"past": "-startdate 20200101000000Z -enddate 20200201000000Z", "present": "-days 2"}
_HOSTS = {
    "valid": ("localhost", "present"),
    "expired": ("localhost", "past"),
    "of another host": ("elsewhere.example.com", "present"),
}


class Certificates(Struct, frozen=True):
    folder: Path

    def tls(self, kind: str) -> ssl.SSLContext:
        """A server context. ``kind``: valid, expired, of another host, or self-signed."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.load(kind, context)
        return context

    def load(self, kind: str, context: ssl.SSLContext) -> None:
        """Replaces the certificate for new connections."""
        name = kind.replace(" ", "-")
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")


def made_certificates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """All except the self-signed one are issued by an authority that is trusted during the test."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (folder / "ca.cnf").write_text(_CONFIGURATION)
    (folder / "index").touch()

    def openssl(command: str, name: str) -> None:
        arguments = [f"/CN={name}" if one == "NAME" else one for one in command.split()]
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl(
        f"req -x509 {_KEY} -config ca.cnf -extensions root -days 2 -subj NAME "
        "-keyout ca.key -out ca.pem",
        "authority",
    )
    openssl(
        f"req -x509 {_KEY} -config ca.cnf -days 2 -subj NAME -addext subjectAltName=DNS:localhost "
        "-keyout self-signed.key -out self-signed.pem",
        "localhost",
    )
    for kind, (host, period) in _HOSTS.items():
        name = kind.replace(" ", "-")
        openssl(
            f"req {_KEY} -config ca.cnf -subj NAME -addext subjectAltName=DNS:{host} "
            f"-keyout {name}.key -out {name}.csr",
            host,
        )
        openssl(
            f"ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key {_YEARS[period]} "
            f"-in {name}.csr -out {name}.pem",
            host,
        )
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    return Certificates(folder)
