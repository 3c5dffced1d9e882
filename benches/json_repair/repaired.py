"""Repairs the text of each line of its input, a JSON string, and answers with the repaired text as a JSON string, or
with `null` where there is none."""

import json
import sys

import json_repair

for line in sys.stdin:
    try:
        repaired = json_repair.repair_json(json.loads(line))
    except Exception:
        repaired = None
    # It says that it found nothing with an empty text, or with an empty string.
    print(json.dumps(repaired if repaired not in ("", '""') else None), flush=True)
