"""Responses of a server of Chat Completions, as a client of the Messages API receives them through a gateway.

Prints what each gateway makes of the same bytes, a line per case and gateway:

    python3 chat_completions.py http://127.0.0.1:8484 http://127.0.0.1:4000

The server of the cases listens on port 18010. Before the command, start the gateways in front of it:

    tool-gateway serve --upstream-kind openai --upstream http://127.0.0.1:18010
    litellm --port 4000 --config chat_completions.yaml    # PyPI: litellm[proxy]

The table in docs/comparison.md is written by hand from this output.
"""

import json
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 18010
USAGE = {
    "prompt_tokens": 120,
    "completion_tokens": 7,
    "total_tokens": 127,
    "prompt_tokens_details": {"cached_tokens": 100},
}


class Response:
    """A response of the server: status, headers and bytes."""

    def __init__(self, content_type, body, status=200, headers=None):
        self.status, self.body = status, body
        self.headers = {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}
        self.is_stream = content_type == "text/event-stream"


def stream(*chunks, done=True):
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return Response("text/event-stream", body + (b"data: [DONE]\n\n" if done else b""))


def chunk(delta=None, finish=None, **fields):
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish, **fields}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def usage():
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": USAGE}


def call(index=None, id=None, name=None, arguments=None):
    fields = {"index": index, "id": id, "type": "function" if id is not None else None}
    function = {"name": name, "arguments": arguments}
    piece = {key: value for key, value in fields.items() if value is not None}
    piece["function"] = {key: value for key, value in function.items() if value is not None}
    return chunk({"tool_calls": [piece]})


def whole(message, finish="stop", with_usage=True):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Response("application/json", json.dumps({**body, **({"usage": USAGE} if with_usage else {})}).encode())


def calls(*calls, content=None):
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls
    ]
    return {"content": content, "tool_calls": calls}


def error(status, body, content_type="application/json", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(content_type, body, status, {key.replace("_", "-"): value for key, value in headers.items()})


START = chunk({"role": "assistant", "content": None})
CALLS = chunk({}, "tool_calls")
STOP = chunk({}, "stop")
CASES = {
    "Python dictionary, stream": stream(
        START, call(0, "call_1", "f", "{'a': [1,"), call(0, arguments=" True]}"), CALLS, usage()
    ),
    "Python dictionary, whole": whole(calls(("call_1", "f", "{'a': [1, True]}")), "tool_calls"),
    "`\"5\"` for a list of integers": stream(START, call(0, "call_1", "f", '{"a": "5"}'), CALLS, usage()),
    "arguments cut by `length`, stream": stream(
        chunk({"role": "assistant", "content": "x"}), call(0, "call_1", "f", '{"a": [1, 2'), chunk({}, "length"), usage()
    ),
    "arguments cut by `length`, whole": whole(calls(("call_1", "f", '{"a": [1, 2'), content="x"), "length"),
    "arguments cut, `tool_calls`, whole": whole(calls(("call_1", "f", '{"a": [1, 2')), "tool_calls"),
    "the stream ends in a call": stream(START, call(0, "call_1", "f", '{"a": [1'), done=False),
    "no `finish_reason`, `[DONE]`": stream(START, call(0, "call_1", "f", '{"a": [1]}'), usage()),
    "`stop` with a call": stream(START, call(0, "call_1", "f", '{"a": [1]}'), STOP, usage()),
    "id and name in each piece": stream(
        START, call(0, "call_1", "f", '{"a":'), call(0, "call_1", "f", " [1]}"), CALLS, usage()
    ),
    "interleaved calls": stream(
        START,
        call(0, "call_1", "f", '{"a":'),
        call(1, "call_2", "g", '{"b":'),
        call(0, arguments=" [1]}"),
        call(1, arguments="2}"),
        CALLS,
        usage(),
    ),
    "calls without index": stream(
        START, call(None, "call_1", "f", '{"a": [1]}'), call(None, "call_2", "g", '{"b": 2}'), CALLS, usage()
    ),
    "index 0 twice": stream(
        START, call(0, "call_1", "f", '{"a": [1]}'), call(0, "call_2", "g", '{"b": 2}'), CALLS, usage()
    ),
    "name after the id": stream(
        START, call(0, "call_1"), call(0, name="f"), call(0, arguments='{"a": [1]}'), CALLS, usage()
    ),
    "arguments as an object": stream(START, call(0, "call_1", "f", {"a": [1]}), CALLS, usage()),
    "arguments as a list": whole(calls(("call_1", "f", "[1]")), "tool_calls"),
    "arguments as a string with an object": whole(calls(("call_1", "f", json.dumps('{"a": [1]}'))), "tool_calls"),
    "name of no tool": stream(START, call(0, "call_1", "h", '{"a": [1]}'), CALLS, usage()),
    "refusal, stream": stream(
        chunk({"role": "assistant", "refusal": "I cannot "}), chunk({"refusal": "help."}), STOP, usage()
    ),
    "refusal, whole": whole({"content": None, "refusal": "I cannot help."}),
    "`content_filter`": stream(chunk({"role": "assistant", "content": "x"}), chunk({}, "content_filter"), usage()),
    "content parts, stream": stream(
        chunk({"role": "assistant", "content": [{"type": "text", "text": "hel"}]}),
        chunk({"content": [{"type": "text", "text": "lo"}]}),
        STOP,
        usage(),
    ),
    "usage": stream(chunk({"role": "assistant", "content": "x"}), STOP, usage()),
    "usage missing, stream": stream(chunk({"role": "assistant", "content": "x"}), STOP),
    "usage missing, whole": whole({"content": "x"}, with_usage=False),
    "stop sequence named": stream(
        chunk({"role": "assistant", "content": "x"}), chunk({}, "stop", stop_reason="END"), usage()
    ),
    "one id for two calls": whole(calls(("call_1", "f", '{"a": [1]}'), ("call_1", "g", '{"b": 2}')), "tool_calls"),
    "empty ids": whole(calls(("", "f", '{"a": [1]}'), ("", "g", '{"b": 2}')), "tool_calls"),
    "`choices: []`": error(200, {"id": "c", "object": "chat.completion", "choices": [], "usage": USAGE}),
    "error in the stream": stream(
        chunk({"role": "assistant", "content": "x"}),
        {"error": {"message": "engine died", "code": 500, "type": "internal_error"}},
        done=False,
    ),
    "200 with an error": error(200, {"error": {"message": "rate limited", "code": 429}}),
    "429 with `retry-after`": error(429, {"error": {"message": "slow down", "code": "rate_limit"}}, retry_after="7"),
    "503 with `retry-after`": error(503, {"error": {"message": "overloaded"}}, retry_after="7"),
    "HTML error": error(502, b"<html><body><h1>Bad Gateway</h1></body></html>", "text/html"),
}
TOOLS = [
    {
        "name": "f",
        "input_schema": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
    },
    {"name": "g", "input_schema": {"type": "object", "properties": {"b": {"type": "integer"}}}},
]


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.respond(error(200, {"object": "list", "data": []}))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.respond(list(CASES.values())[int(request["model"].removeprefix("case-"))])

    def respond(self, response):
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, *_):
        pass


def ask(gateway, number, is_stream):
    body = {
        "model": f"case-{number}",
        "max_tokens": 1000,
        "stream": is_stream,
        "stop_sequences": ["END"],
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "hi"}],
    }
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "demo"}
    request = urllib.request.Request(f"{gateway}/v1/messages", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as failure:
        return failure.code, failure.headers, failure.read().decode()


def summary(status, headers, text):
    """Returns the events of a stream, or the parts of a message, in a line."""
    if not headers.get("content-type", "").startswith("text/event-stream"):
        body = json.loads(text)
        keys = ["content", "stop_reason", "stop_details", "usage", "error"]
        retry = headers.get("retry-after")
        parts = [f"{key}: {json.dumps(body[key])}" for key in keys if key in body]
        return " ".join([str(status), *parts, *([f"retry-after: {retry}"] if retry else [])])
    parts = []
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        event = json.loads(line[5:])
        match event["type"]:
            case "message_start":
                parts.append(f"start({event['message']['usage']['input_tokens']})")
            case "content_block_start":
                block = event["content_block"]
                parts.append(" ".join([f"[{event['index']}", block["type"], *filter(None, [block.get("id"), block.get("name")])]))
            case "content_block_delta":
                parts.append(json.dumps([value for key, value in event["delta"].items() if key != "type"][0]))
            case "content_block_stop":
                parts.append("]")
            case "message_delta":
                parts.append(f"end({json.dumps(event['delta'])}, {json.dumps(event['usage'])})")
            case "error":
                parts.append(f"error({json.dumps(event['error'])})")
    return " ".join(parts)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for number, (name, response) in enumerate(CASES.items()):
        print(f"\n{name}")
        for gateway in sys.argv[1:]:
            print(f"  {gateway}: {summary(*ask(gateway, number, response.is_stream))}")


main()
