"""The tools `choose`, `reward` and `report` of a service, for programs that speak the Model Context Protocol.

    corral serve band.toml --store data &
    python server.py http://127.0.0.1:8080          # over stdin and stdout; CORRAL_SECRET has the client's secret, where one is needed

Needs: pip install corral 'mcp>=2'.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import corral

server = MCPServer("corral")
client = corral.Client(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080", secret=os.environ.get("CORRAL_SECRET"))


def asked(call: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """What the service answers; why it refuses is for the model to read."""
    try:
        return call(*args, **more)
    except corral.ServiceError as refused:
        raise ToolError(str(refused)) from refused


@server.tool()
def choose(band: str, features: list[float] = [], actions: list[str] | None = None, unit: str | None = None) -> dict[str, Any]:
    """Asks the band for an action. Keep the id: the reward is brought by it.

    features: what is known before deciding, as numbers. actions: those that may be played now, by name; left out: all. unit: for
    whom, so that the same one is treated alike.
    """
    choice = asked(client.choose, band, features, actions=actions, unit=unit, store=True)
    return {"action": choice.action, "propensity": choice.propensity, "id": choice.id}


@server.tool()
def reward(band: str, id: str, reward: float) -> str:
    """Says what came of a decision, once: the larger, the better, within the band's range."""
    asked(client.reward, band, id=id, reward=reward)
    return "it is kept, and will be learned"


@server.tool()
def report(band: str) -> str:
    """What the band has learned, which base it follows, and how the actions fare."""
    return str(asked(client.report, band)["report"])


if __name__ == "__main__":
    server.run()
