"""Dask processes: on loopback, no files of the current folder; schedulers with certificates."""

import shutil
import subprocess
import sys

import pytest

from mallowmix.errors import OptionError

pytest.importorskip("distributed")

SCRIPT = """
import json, sys
import psutil
from mallowmix.engine.dask import DaskEngine

engine = DaskEngine(workers=1, dashboard="127.0.0.1:0")
engine.client.wait_for_workers(1)
children = psutil.Process().children(recursive=True)
lines = [line for child in children for line in child.net_connections("tcp")]
heard = [line.laddr.ip for line in lines if line.status == "LISTEN"]
paths = engine.client.run(lambda: sys.path)
print(json.dumps([heard, list(paths.values())]))
engine.close()
"""


@pytest.mark.slow
def test_a_cluster_on_this_machine_is_on_loopback_and_runs_no_file_beside_the_data(tmp_path):
    import json

    work = tmp_path / "data"
    work.mkdir()
    for name in ("secrets", "dask", "distributed", "numpy", "tornado"):
        (work / f"{name}.py").write_text("open('was_run', 'w')\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heard, paths = json.loads(done.stdout.splitlines()[-1])
    assert len(heard) >= 3 and set(heard) == {"127.0.0.1"}
    assert paths and not any(str(work) in path or "" in path for path in paths)
    assert not (work / "was_run").exists()


def certificate(folder):
    """A certificate that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -keyout key.pem -out cert.pem"
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


@pytest.mark.slow
def test_a_scheduler_with_certificates(tmp_path):
    from distributed import LocalCluster, Security

    from mallowmix.engine.dask import DaskEngine

    cert, key = certificate(tmp_path)
    theirs = Security(
        require_encryption=True,
        tls_ca_file=str(cert),
        **{
            f"tls_{who}_{what}": str(file)
            for who in ("scheduler", "worker", "client")
            for what, file in (("cert", cert), ("key", key))
        },
    )
    with LocalCluster(
        n_workers=1, processes=False, security=theirs, protocol="tls://", dashboard_address=None
    ) as cluster:
        address = f"{cluster.scheduler_address}?tls_ca_file={cert}&tls_cert={cert}&tls_key={key}"
        engine = DaskEngine(address)
        assert engine.client.submit(max, 3, 4).result() == 4
        engine.client.close()


def test_addresses_that_cannot_be(tmp_path):
    from mallowmix.engine.dask import scheduler_address

    files = "tls_ca_file=a&tls_cert=b&tls_key=c"
    for address in (f"tcp://x:1?{files}", "tls://x:1?tls_cert=b", f"tls://x:1?{files}"):
        with pytest.raises(OptionError) as told:
            scheduler_address(address)
        assert told.value.option == "scheduler"
