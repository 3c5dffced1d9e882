"""A conversation through the gateway with the official SDK. Prints what the client saw, as JSON lines.

Arguments: the base URL; `create` or `stream`; `objects` or `dumps`, which is how the answer is echoed.
"""

import json
import sys

import anthropic

base_url, way, echo = sys.argv[1:]
client = anthropic.Anthropic(base_url=base_url, api_key="demo", max_retries=0)
tools = [
    {
        "name": "get_weather",
        "description": "Get the weather.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]
messages = [{"role": "user", "content": "What is the weather in Paris? Ünïcode, 1.0"}]
for question in ["And the list?", None]:
    while True:
        request = dict(model="demo", max_tokens=1000, tools=tools, messages=messages)
        if way == "create":
            answer = client.messages.create(**request)
        else:
            with client.messages.stream(**request) as stream:
                answer = stream.get_final_message()
        content = answer.content if echo == "objects" else [block.model_dump() for block in answer.content]
        seen = [block.model_dump(exclude_none=True) for block in answer.content]
        print(json.dumps({"stop_reason": answer.stop_reason, "content": seen}), flush=True)
        messages.append({"role": "assistant", "content": content})
        if answer.stop_reason != "tool_use":
            break
        calls = [block for block in answer.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"} for call in calls]
        messages.append({"role": "user", "content": results})
    if question:
        messages.append({"role": "user", "content": question})
