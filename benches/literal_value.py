"""Answers each line, a text as a JSON string, with the Python literal in it as JSON in a JSON string, or with null."""

import ast
import json
import sys

for line in sys.stdin:
    try:
        value = json.dumps(ast.literal_eval(json.loads(line).strip()), allow_nan=False)
    except Exception:
        value = None
    print(json.dumps(value), flush=True)
