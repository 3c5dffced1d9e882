"""Conversations through a gateway that is killed and started again. Prints the answers of each, as a JSON line.

Arguments: the base URL; `create` or `stream`; how many conversations. Requests are retried by the SDK, as in any program; a stream
that breaks off, which it does not retry, is asked for again.
"""

import json
import sys
import time

import anthropic

base_url, way, count = sys.argv[1:]
client = anthropic.Anthropic(base_url=base_url, api_key="demo", max_retries=8)
tools = [
    {
        "name": "get_weather",
        "description": "Get the weather.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]


def ask(messages):
    request = dict(model="demo", max_tokens=1000, tools=tools, messages=messages)
    if way == "create":
        return client.messages.create(**request)
    headers = {}
    while True:
        try:
            with client.messages.stream(**request, extra_headers=headers) as stream:
                return stream.get_final_message()
        except Exception as error:
            print(repr(error), file=sys.stderr)
            headers = {"x-stainless-retry-count": "1"}
            time.sleep(0.1)


for number in range(int(count)):
    messages = [{"role": "user", "content": f"Conversation {number}: what is the weather in Paris?"}]
    answers = []
    for question in ["And the list?", None]:
        while True:
            answer = ask(messages)
            answers.append([answer.stop_reason] + [getattr(block, "name", block.type) for block in answer.content])
            messages.append({"role": "assistant", "content": answer.content})
            if answer.stop_reason != "tool_use":
                break
            calls = [block for block in answer.content if block.type == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"} for call in calls]
            messages.append({"role": "user", "content": results})
        if question:
            messages.append({"role": "user", "content": question})
    print(json.dumps(answers), flush=True)
