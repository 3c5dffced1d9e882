"""An MCP server with one tool, `write`, which appends its key to the file of the first argument."""

import json
import sys
import time

TOOL = {
    "name": "write",
    "description": "Append a key.",
    "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "peer", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        key = params["arguments"]["key"]
        with open(sys.argv[1], "a", encoding="utf-8") as runs:
            runs.write(key + "\n")
        time.sleep(0.01)
        return {"content": [{"type": "text", "text": "wrote " + key}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message.get("method"), message.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "unknown method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
