"""A mixed turn through a gateway that is killed and started again. Prints each answer as a JSON line: its texts and its calls.

The first line of standard input is the base URL, and the second one the base URL after the restart.
"""

import json
import sys

import anthropic

tools = [
    {
        "name": "get_weather",
        "description": "Get the weather.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]
messages = [{"role": "user", "content": "What is the weather?"}]


def ask():
    client = anthropic.Anthropic(base_url=sys.stdin.readline().strip(), api_key="demo", max_retries=8)
    request = dict(model="demo", max_tokens=1000, tools=tools, messages=messages)
    with client.messages.stream(**request) as stream:
        answer = stream.get_final_message()
    print(json.dumps([getattr(block, "name", None) or block.text for block in answer.content]), flush=True)
    messages.append({"role": "assistant", "content": answer.content})
    return [block for block in answer.content if block.type == "tool_use"]


results = [{"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"} for call in ask()]
messages.append({"role": "user", "content": results})
ask()
