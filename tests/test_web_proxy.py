"""The nginx of docs/web.md, with a certificate of its own, before a real server."""

import contextlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from tests.web_process import PATIENCE, ScriptedServer, answer

DOCS = Path(__file__).parents[1] / "docs" / "web.md"
HOST = "survey.example.org"
CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def from_docs(folder, port, upstream):
    """The block of the page with the ports and files of this test."""
    found = re.search(r"^```nginx\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.M | re.S)
    text = found[1]
    for theirs, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/survey.pem", str(folder / "cert.pem")),
        ("/etc/ssl/survey.key", str(folder / "key.pem")),
        ("http://127.0.0.1:8000", f"http://127.0.0.1:{upstream}"),
    ):
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, ours)
    return CONFIGURATION.format(folder=folder, server=text)


@contextlib.contextmanager
def nginx(folder, upstream):
    """Yield the port of a running nginx."""
    port = free_port()
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={HOST}"
    words += " -keyout key.pem -out cert.pem"
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    (folder / "nginx.conf").write_text(from_docs(folder, port, upstream))
    command = [PROGRAM, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "nginx.log"]
    process = subprocess.Popen(command)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            log = folder / "nginx.log"
            assert process.poll() is None, log.read_text() if log.exists() else ""
            assert time.monotonic() < end
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def ask(port, head, body=b""):
    """One request over TLS, to the name that visitors know."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    lines = [*head.split("\n"), f"Host: {HOST}", "Connection: close"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE) as plain,
        trusting.wrap_socket(plain, server_hostname=HOST) as line,
    ):
        line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return answer(line)


PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin:/usr/local/sbin")


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_everything_works_behind_the_nginx_of_the_docs(tmp_path):
    options = (
        f"public_url='https://{HOST}', hosts=allowed_hosts('127.0.0.1', 'https://{HOST}'), "
        "trusted_proxies=('127.0.0.1',), people_per_address=2, admin_token='x' * 20"
    )
    with ScriptedServer(tmp_path, options) as running, nginx(tmp_path, running.port) as port:
        assert ask(port, "GET / HTTP/1.1")[0] == 200
        begin = f"POST /api/v1/people HTTP/1.1\nOrigin: https://{HOST}"
        status, text = ask(port, begin, b"{}")
        assert status == 201 and "; Secure" in text
        assert ask(port, begin.replace("https", "http"), b"{}")[0] == 403
        # what a visitor says about their address is overwritten by nginx
        lying = begin + "\nX-Forwarded-For: 203.0.113.9"
        assert [ask(port, lying, b"{}")[0] for _ in range(2)] == [201, 429]
        status, text = ask(port, "GET /api/v1/health HTTP/1.1")
        assert status == 200 and json.loads(text.split("\r\n\r\n", 1)[1])["status"] == "ok"
        assert ask(port, "POST /api/v1/weights HTTP/1.1", b"x" * 70_000)[0] == 413
