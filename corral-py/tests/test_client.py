"""The client against the real service."""

import asyncio
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from corral import client as corral_client

SPEC = """
name = "shop"
actions = ["a", "b"]
features = 1
bases = ["linucb", "squarecb"]
"""


def program() -> str | None:
    """The program: of CORRAL, of the tests of this workspace, or on the path."""
    root = Path(__file__).resolve().parents[2]
    found = [os.environ.get("CORRAL"), *(root / "target" / p / "corral" for p in ("debug", "release")), shutil.which("corral")]
    return next((str(path) for path in found if path and Path(path).is_file()), None)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory):
    found = program()
    if found is None:
        pytest.skip("the program `corral` is not built: NOT tested against the service")
    folder = tmp_path_factory.mktemp("serve")
    (folder / "band.toml").write_text(SPEC)
    command = [found, "serve", str(folder / "band.toml"), "--store", str(folder / "data"), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("listening on "):
            yield line.split()[-1]
            break
    process.terminate()
    process.wait(timeout=30)


def test_choose_and_reward(url: str) -> None:
    with corral_client.Client(url) as client:
        assert client.ready()
        choice = client.choose("shop", [0.5], unit="u")
        assert choice.action in ("a", "b") and choice.propensity is not None and 0 < choice.propensity <= 1
        client.reward("shop", choice, 1.0)
        with pytest.raises(corral_client.ServiceError) as again:
            client.reward("shop", choice.token, 1.0)
        assert again.value.status == 409
        kept = client.choose("shop", [0.5], store=True)
        client.reward("shop", id=kept.id, reward=0.5)
        same = client.choose("shop", [0.5], key="k"), client.choose("shop", [0.5], key="k")
        assert same[0].token == same[1].token
        with pytest.raises(corral_client.ServiceError, match="features"):
            client.choose("shop", [0.5, 1.0])
        with pytest.raises(corral_client.ServiceError) as unknown:
            client.choose("nowhere")
        assert unknown.value.status == 404
        batch = client.choose_batch("shop", [{"features": [0.1]}, {"features": []}])
        assert isinstance(batch[0], corral_client.Choice) and isinstance(batch[1], corral_client.ServiceError)
        assert client.reward_batch("shop", [(batch[0], 1.0), (batch[0], 1.0)]) == [200, 409]
        assert client.report("shop")["name"] == "shop"


def test_many_threads_and_async(url: str) -> None:
    client = corral_client.Client(url)

    def play() -> None:
        for _ in range(20):
            client.reward("shop", client.choose("shop", [0.3]), 1.0)

    threads = [threading.Thread(target=play) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    async def one() -> None:
        asynchronous = corral_client.AsyncClient(url)
        choices = await asyncio.gather(*(asynchronous.choose("shop", [0.3]) for _ in range(5)))
        assert len({choice.id for choice in choices}) == 5
        await asyncio.gather(*(asynchronous.reward("shop", choice, 1.0) for choice in choices))

    asyncio.run(one())


class Flaky:
    """A service that takes a reward and loses its first answer."""

    def __init__(self) -> None:
        import http.server

        tries = self.tries = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                tries.append(self.path)
                if len(tries) == 1:
                    self.close_connection = True
                    return
                body = b'{"status": 409, "error": "rewarded already"}'
                self.send_response(409)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def test_a_lost_answer_is_no_error() -> None:
    flaky = Flaky()
    client = corral_client.Client(f"http://127.0.0.1:{flaky.server.server_port}")
    client.reward("shop", "c2.x.y.z", 1.0)
    assert len(flaky.tries) == 2
    with pytest.raises(corral_client.ServiceError) as again:
        client.reward("shop", "c2.x.y.z", 1.0)
    assert again.value.status == 409
    client.close()
    flaky.server.shutdown()


def test_a_service_that_is_not_there() -> None:
    client = corral_client.Client("http://127.0.0.1:9", retries=1, timeout=0.5)
    assert not client.ready()
    with pytest.raises(ConnectionError):
        client.choose("shop")
    with pytest.raises(ValueError, match="url"):
        corral_client.Client("127.0.0.1:8080")
