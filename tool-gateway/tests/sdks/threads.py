"""A run of tools through the gateway with the official SDK, whose tool runner sends message threads. Prints the last text.

Arguments: the base URL; `create` or `stream`.
"""

import sys

import anthropic

base_url, way = sys.argv[1:]
client = anthropic.Anthropic(base_url=base_url, api_key="demo", max_retries=0)


@anthropic.beta_tool
def get_weather(city: str) -> str:
    """Get the weather."""
    return "21 degrees"


runner = client.beta.messages.tool_runner(
    model="demo",
    max_tokens=1000,
    tools=[get_weather],
    messages=[{"role": "user", "content": "What is the weather in Paris?"}],
    stream=way == "stream",
)
answers = [answer.get_final_message() if way == "stream" else answer for answer in runner]
print([block.text for block in answers[-1].content if block.type == "text"][-1])
