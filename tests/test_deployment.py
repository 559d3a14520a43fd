"""The Dockerfile, the compose file and the workflow, as far as they can be checked without one:
who runs, what is read-only, which options and targets they name, and that the health check works.
"""

import json
import re
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import typer.main

from benchmarks.web_clients import Server
from mallowmix.cli import app
from mallowmix.model.m4 import M4
from mallowmix.model.model_file import save

yaml = pytest.importorskip("yaml")
HERE = Path(__file__).parent.parent
DOCKERFILE = (HERE / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = yaml.safe_load((HERE / "compose.yaml").read_text())


def instruction(name):
    """What stands behind the last instruction of this name."""
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)[-1]


def health_check():
    return json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])


def options_of_serve():
    command = typer.main.get_command(app).commands["serve"]
    return {word for parameter in command.params for word in parameter.opts}


def test_the_container_is_not_root_and_its_root_file_system_is_read_only():
    assert instruction("USER") == "10001"
    survey = COMPOSE["services"]["survey"]
    assert survey["read_only"] is True and survey["cap_drop"] == ["ALL"]
    assert survey["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in survey["ports"])
    written = [volume.partition(":")[2] for volume in survey["volumes"] if ":ro" not in volume]
    named = set(json.loads(instruction("VOLUME")))
    assert set(written) | set(survey["tmpfs"]) >= named, "whatever is written to is mounted"


def test_no_secret_has_a_default():
    text = (HERE / "compose.yaml").read_text()
    for name in ("POSTGRES_PASSWORD", "MALLOWMIX_ADMIN_TOKEN"):
        uses = re.findall(rf"\$\{{{name}(.)", text)
        assert uses and set(uses) == {":"} and f"${{{name}:?" in text


def test_every_option_is_one_of_serve():
    entry, usual = (json.loads(instruction(name)) for name in ("ENTRYPOINT", "CMD"))
    words = [*entry, *usual, *COMPOSE["services"]["survey"]["command"]]
    assert entry[:2] == ["mallowmix", "serve"]
    given = {word.split("=")[0] for word in words if word.startswith("--")}
    assert given <= options_of_serve()


def test_the_trusted_proxy_is_the_gateway_of_the_network():
    words = COMPOSE["services"]["survey"]["command"]
    (network,) = COMPOSE["networks"]["default"]["ipam"]["config"]
    assert f"--trusted-proxy={network['gateway']}" in words
    assert ip_address(network["gateway"]) in ip_network(network["subnet"])
    assert any(word.startswith("--public-url=${MALLOWMIX_PUBLIC_URL:?") for word in words)


def test_the_survey_waits_for_its_database():
    services = COMPOSE["services"]
    assert services["survey"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert "pg_isready" in services["database"]["healthcheck"]["test"]


def test_the_image_has_what_the_build_needs():
    """Everything that COPY names is let through by .dockerignore, and exists."""
    let_through = {
        line[1:] for line in (HERE / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert names <= let_through and all((HERE / name).exists() for name in names)


def test_the_workflow_calls_targets_that_there_are():
    workflow = yaml.safe_load((HERE / ".github/workflows/checks.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (HERE / "Makefile").read_text(), re.MULTILINE))
    assert {"make test", "make faults"} <= set(commands)
    assert all(words[0] == "make" and words[1] in targets for words in map(str.split, commands))


@pytest.mark.slow
def test_the_health_check_fails_unless_the_server_takes_votes(tmp_path):
    save(M4.from_orders(["abc"], 0.1), tmp_path / "model.m4")
    server = Server(["model.m4", "--votes", "votes.db"], tmp_path)
    _, option, code = health_check()
    assert ":8000/" in code
    command = [sys.executable, option, code.replace(":8000/", f":{server.port}/")]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    server.start()
    try:
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        (tmp_path / "votes.db").rename(tmp_path / "elsewhere")  # votes are refused
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    finally:
        server.kill()
