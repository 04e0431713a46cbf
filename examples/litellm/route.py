"""A LiteLLM router whose requests a service routes: every router of a team asks the same band, and what it learns outlasts them all.

    corral serve router.toml --store data &
    python route.py http://127.0.0.1:8080

Needs: pip install corral[litellm]. The models here answer without a network: put your own deployments in their place.
"""

import sys
import time

import litellm

import corral
from corral.adapters.litellm import BandRouting


def deployment(model: str, answer: str) -> dict:
    return {"model_name": "any", "litellm_params": {"model": model, "api_key": "none", "mock_response": answer}}


def reward(kwargs: dict, answer, seconds: float) -> float:
    """Yours: a grade of the answer, less what it costs."""
    return float(answer.choices[0].message.content == "a good answer")


def main(url: str, requests: int = 200) -> None:
    client = corral.Client(url)
    router = litellm.Router(model_list=[deployment("openai/small", "an answer"), deployment("openai/large", "a good answer")])
    BandRouting(router, client.band("models"), reward=reward, features=lambda messages: [len(messages[0]["content"]) / 1000])
    for _ in range(requests):
        router.completion(model="any", messages=[{"role": "user", "content": "How long is a piece of string?"}])
    while (report := client.report("models"))["learned"] < requests:
        time.sleep(0.05)
    print(f"{report['learned']} requests, mean reward {report['band']['mean_reward']:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
