"""Conversations with the official SDK, until standard input ends. Prints the number of turns and the errors that the SDK did not retry."""

import json
import sys
import threading

import anthropic

CONVERSATIONS = 8
url = sys.argv[1]
ended = threading.Event()
turns = []
errors = []


def call(name, key):
    return [{"type": "tool_use", "id": "up_" + key, "name": name, "input": {"key": key}}]


def converse(number):
    client = anthropic.Anthropic(base_url=url, api_key="key", max_retries=4)
    tools = [{"name": "weather", "description": "The weather.", "input_schema": {"type": "object"}}]
    turn = 0
    while not ended.is_set():
        messages = []
        for _ in range(4):
            turn += 1
            key = f"{number}-{turn}"
            plan = [call("peer__write", key), call("peer__write", key + "b") + call("weather", key + "c"), "Done " + key]
            messages.append({"role": "user", "content": json.dumps(plan)})
            try:
                reply = client.messages.create(model="m", max_tokens=100, tools=tools, messages=messages)
                assert reply.stop_reason == "tool_use", reply
                messages.append({"role": "assistant", "content": reply.content})
                results = [
                    {"type": "tool_result", "tool_use_id": block.id, "content": "sun"}
                    for block in reply.content
                    if block.type == "tool_use"
                ]
                messages.append({"role": "user", "content": results})
                reply = client.messages.create(model="m", max_tokens=100, tools=tools, messages=messages)
                assert reply.content[0].text == "Done " + key, reply
                messages.append({"role": "assistant", "content": reply.content})
                turns.append(key)
            except Exception as error:  # noqa: BLE001
                errors.append(f"{key}: {error!r}")
                return


threads = [threading.Thread(target=converse, args=(number,)) for number in range(CONVERSATIONS)]
for thread in threads:
    thread.start()
sys.stdin.read()
ended.set()
for thread in threads:
    thread.join()
print(json.dumps({"turns": turns, "errors": errors}))
