"""What stands on the service: its document, and the examples that ask it."""

import asyncio
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_client import program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def needs(package):
    return pytest.importorskip(package, reason=f"{package} is not installed: what is for it is NOT tested")


@pytest.fixture
def serve(tmp_path):
    """Starts the service with a spec, and gives its address."""
    found = program()
    if found is None:
        pytest.skip("the program `corral` is not built: NOT tested against the service")
    started = []

    def start(spec: str) -> str:
        (tmp_path / "band.toml").write_text(spec)
        command = [found, "serve", str(tmp_path / "band.toml"), "--store", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return next(line.split()[-1] for line in process.stderr if line.startswith("listening on "))

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=30)


def test_the_document_holds(serve, tmp_path):
    """Requests that schemathesis makes from /openapi.json, right and wrong ones: each answer is as the document says."""
    needs("schemathesis")
    url = serve('name = "shop"\nactions = ["a", "b", "c"]\nfeatures = 2\nbases = ["linucb", "epsilon-greedy"]\nlog_decisions = true\n')
    config = Path(__file__).parent / "schemathesis.toml"
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{url}/openapi.json", "--max-examples", "30"]
    found = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    done = subprocess.run([found, *command[3:]] if found else command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 selected" in done.stdout, done.stdout


def test_litellm_routes_through_the_service(serve, capsys):
    needs("litellm")
    url = serve((EXAMPLES / "litellm/router.toml").read_text())
    # In this process: LiteLLM takes seconds to import.
    runpy.run_path(str(EXAMPLES / "litellm/route.py"))["main"](url)
    said = next(line for line in capsys.readouterr().out.splitlines() if "mean reward" in line)
    assert said.startswith("200 requests") and float(said.split()[-1]) > 0.7, said


def test_litellm_awaits_the_service_and_offers_what_is_healthy(serve):
    litellm = needs("litellm")
    import corral
    from corral.adapters.litellm import BandRouting

    client = corral.Client(serve('name = "models"\nactions = ["openai/a", "openai/b", "openai/c"]\nbases = ["ucb1", "exp3"]\n'))
    models = [{"model_name": "any", "litellm_params": {"model": m, "api_key": "none", "mock_response": m}} for m in client.band("models").actions]
    router = litellm.Router(model_list=models)
    BandRouting(router, client.band("models"), reward=lambda *_: 0.5)
    cool = {"original_exception": Exception("busy"), "exception_status": 429, "cooldown_time": 600}
    router.cooldown_cache.add_deployment_to_cooldown(model_id=router.model_list[0]["model_info"]["id"], **cool)

    # The service's generator has no seed: with 60 requests both are asked but for one run in 10 million.
    async def ask():
        asked = [router.acompletion(model="any", messages=[{"role": "user", "content": "?"}]) for _ in range(60)]
        answers = [answer.choices[0].message.content for answer in await asyncio.gather(*asked)]
        for _ in range(300):
            if client.report("models")["learned"] == 60:
                break
            await asyncio.sleep(0.02)
        return answers

    assert set(asyncio.run(ask())) == {"openai/b", "openai/c"}
    report = client.report("models")
    assert (report["decisions"], report["learned"]) == (60, 60), report


def test_tools_of_the_model_context_protocol(serve):
    needs("mcp")
    from mcp import Client, StdioServerParameters

    url = serve('name = "shop"\nactions = ["a", "b", "c"]\nbases = ["ucb1", "exp3"]\n')
    server = StdioServerParameters(command=sys.executable, args=[str(EXAMPLES / "mcp/server.py"), url], env=dict(os.environ))

    async def use():
        async with Client(server) as session:
            assert {tool.name for tool in (await session.list_tools()).tools} == {"choose", "reward", "report"}
            chosen = (await session.call_tool("choose", {"band": "shop", "actions": ["b", "c"]})).structured_content
            assert chosen["action"] in ("b", "c") and chosen["propensity"] > 0
            given = {"band": "shop", "id": chosen["id"], "reward": 1.0}
            assert not (await session.call_tool("reward", given)).is_error
            again = await session.call_tool("reward", given)
            assert again.is_error and "409" in again.content[0].text
            assert "ucb1" in (await session.call_tool("report", {"band": "shop"})).content[0].text

    asyncio.run(use())
