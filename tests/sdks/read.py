"""What the official Python SDKs make of streams.

    python3 read.py

Each line that comes in is a JSON object: `{"dialect": "chat|responses|anthropic", "stream": "..."}`. When all have
come, each is served by a loopback server and read with the SDK in every way that the SDK has. For each, a line goes
out: a JSON list of readings, `{"way", "calls": [{"id", "name", "arguments" or "input"}], "stop", "error", ...}`. After
the last comes one line with the versions.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai

STREAMS = [json.loads(line) for line in sys.stdin]
MESSAGES = [{"role": "user", "content": "Write down what is to be done."}]
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": True}
NAMES = ["TodoWrite", "Bash"]


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for number, made in enumerate(STREAMS):
        base = f"http://127.0.0.1:{server.server_port}/{number}"
        print(json.dumps([reading(way, base) for way in WAYS[made["dialect"]]]))
    print(json.dumps({"openai": openai.__version__, "anthropic": anthropic.__version__}), flush=True)
    server.shutdown()


class Server(BaseHTTPRequestHandler):
    """`POST /7/...` is answered with stream 7."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.end_headers()
        self.wfile.write(STREAMS[int(self.path.split("/")[1])]["stream"].encode())

    def log_message(self, *_):
        pass


def reading(way, base):
    """Whatever the SDK raises is part of what it makes of the stream; what it said until then, too."""
    said = {"way": way.__name__, "calls": [], "done": [], "stop": None, "error": None}
    try:
        way(base, said)
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {error}"
    return said


# Chat Completions.


OPENAI = openai.OpenAI(api_key="none", max_retries=0, timeout=60)


def openai_client(base):
    return OPENAI.with_options(base_url=base)


def chat_pieces(base, said):
    calls = {}
    for chunk in openai_client(base).chat.completions.create(model="m", messages=MESSAGES, stream=True):
        for choice in chunk.choices:
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": None, "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""
            said["calls"] = [calls[index] for index in sorted(calls)]
            said["stop"] = choice.finish_reason or said["stop"]


def chat_helper(base, said, **more):
    with openai_client(base).chat.completions.stream(model="m", messages=MESSAGES, **more) as stream:
        for event in stream:
            if event.type == "tool_calls.function.arguments.done":
                said["done"].append({"name": event.name, "arguments": event.arguments})
        choice = stream.get_final_completion().choices[0]
    said["stop"] = choice.finish_reason
    for call in choice.message.tool_calls or []:
        function = call.function
        made = {"id": call.id, "name": function.name, "arguments": function.arguments}
        if more:
            made["input"] = function.parsed_arguments
        said["calls"].append(made)


def chat_strict(base, said):
    function = {"parameters": SCHEMA, "strict": True}
    chat_helper(base, said, tools=[{"type": "function", "function": {"name": name, **function}} for name in NAMES])


# Responses.


def responses_pieces(base, said):
    calls = {}
    for event in openai_client(base).responses.create(model="m", input="?", stream=True):
        if event.type == "response.output_item.added" and event.item.type == "function_call":
            calls[event.output_index] = {"id": event.item.call_id, "name": event.item.name, "arguments": ""}
            said["calls"].append(calls[event.output_index])
        elif event.type == "response.function_call_arguments.delta":
            calls[event.output_index]["arguments"] += event.delta
        elif event.type == "response.function_call_arguments.done":
            said["done"].append({"name": calls[event.output_index]["name"], "arguments": event.arguments})
        elif event.type == "error":
            said["error"] = f"error: {event.message}"
        elif event.type in ("response.completed", "response.incomplete"):
            said["stop"] = event.response.status


def responses_items(base, said):
    calls = {}
    for event in openai_client(base).responses.create(model="m", input="?", stream=True):
        if event.type == "response.output_item.done" and event.item.type == "function_call":
            calls[event.output_index] = responses_call(event.item)
        elif event.type == "error":
            said["error"] = f"error: {event.message}"
        elif event.type in ("response.completed", "response.incomplete"):
            said["stop"] = event.response.status
    said["calls"] = [calls[index] for index in sorted(calls)]


def responses_helper(base, said, **more):
    snapshots, final = {}, None
    with openai_client(base).responses.stream(model="m", input="?", **more) as stream:
        for event in stream:
            if event.type == "response.function_call_arguments.delta":
                snapshots[event.output_index] = event.snapshot
            elif event.type == "response.incomplete":
                final = event.response
            elif event.type == "error":
                said["error"] = f"error: {event.message}"
                return
        final = final or stream.get_final_response()
    said["stop"] = final.status
    for index, item in enumerate(final.output):
        if item.type == "function_call":
            said["calls"].append(responses_call(item))
            said["done"].append({"name": item.name, "arguments": snapshots.get(index, "")})
            if more and final.status == "completed":
                said["calls"][-1]["input"] = item.parsed_arguments


def responses_strict(base, said):
    responses_helper(
        base,
        said,
        tools=[{"type": "function", "name": name, "parameters": SCHEMA, "strict": True} for name in NAMES],
    )


def responses_call(item):
    return {"id": item.call_id, "name": item.name, "arguments": item.arguments}


# Anthropic's Messages.


ANTHROPIC = anthropic.Anthropic(api_key="none", max_retries=0, timeout=60)


def anthropic_client(base):
    return ANTHROPIC.with_options(base_url=base)


def anthropic_pieces(base, said):
    blocks = {}
    for event in anthropic_client(base).messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True):
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            blocks[event.index] = {"id": event.content_block.id, "name": event.content_block.name, "arguments": ""}
            said["calls"].append(blocks[event.index])
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            blocks[event.index]["arguments"] += event.delta.partial_json
        elif event.type == "content_block_stop" and event.index in blocks:
            block = blocks[event.index]
            said["done"].append({"name": block["name"], "arguments": block["arguments"]})
        elif event.type == "message_delta":
            said["stop"] = event.delta.stop_reason


def anthropic_helper(base, said):
    with anthropic_client(base).messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream:
        for event in stream:
            if event.type == "content_block_stop" and event.content_block.type == "tool_use":
                said["done"].append({"name": event.content_block.name, "input": event.content_block.input})
        message = stream.get_final_message()
    said["stop"] = message.stop_reason
    said["calls"] = [
        {"id": block.id, "name": block.name, "input": block.input}
        for block in message.content
        if block.type == "tool_use"
    ]


WAYS = {
    "chat": [chat_pieces, chat_helper, chat_strict],
    "responses": [responses_pieces, responses_items, responses_helper, responses_strict],
    "anthropic": [anthropic_pieces, anthropic_helper],
}

if __name__ == "__main__":
    main()
