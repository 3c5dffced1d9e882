"""The edits of tool-builtins' property test, made by aider: right, refused, wrong. `edits.mjs` explains the use."""

import base64
import importlib.util
import json
import os
import sys
import types
from pathlib import Path

# Of aider, only the functions that apply an edit are loaded. The rest needs a hundred packages.
origin = Path(importlib.util.find_spec("aider").origin).parent
for name in ["aider", "aider.coders"]:
    package = types.ModuleType(name)
    package.__path__ = [str(origin / "coders" if name == "aider.coders" else origin)]
    sys.modules[name] = package
for name, item in [("aider.utils", None), ("aider.dump", "dump"), ("aider.coders.base_coder", "Coder"),
                   ("aider.coders.editblock_prompts", "EditBlockPrompts")]:
    module = types.ModuleType(name)
    if item:
        setattr(module, item, type(item, (), {}))
    sys.modules[name] = module
sys.modules["aider"].utils = sys.modules["aider.utils"]
from aider.coders.editblock_coder import do_replace  # noqa: E402

PATH = f"/tmp/edits-{os.getpid()}"


def edit(case):
    """As `EditBlockCoder.apply_edits`, with `InputOutput.read_text` and `write_text`: UTF-8, and the system's line ends."""
    Path(PATH).write_bytes(base64.b64decode(case["before"]))
    # A block of aider consists of whole lines.
    old, new = (text if text.endswith("\n") else text + "\n" for text in (case["old"], case["new"]))
    try:
        with open(PATH, encoding="utf-8") as file:
            content = file.read()
    except UnicodeError:
        return "refused"
    changed = do_replace(PATH, content, old, new, ("```", "```"))
    if not changed:
        return "refused"
    with open(PATH, "w", encoding="utf-8", newline=None) as file:
        file.write(changed)
    edited, expected = Path(PATH).read_bytes(), base64.b64decode(case["after"])
    if edited == expected:
        return "right"
    return "ends" if text_of(edited) == text_of(expected) else "wrong"


def text_of(file):
    return file.decode(errors="replace").replace("\r", "").replace("\ufeff", "").rstrip("\n")


cases = [json.loads(line) for line in open(sys.argv[1])]
for is_exact in [False, True]:
    counts = {"right": 0, "refused": 0, "ends": 0, "wrong": 0}
    for case in cases:
        if case["is_exact"] == is_exact:
            counts[edit(case)] += 1
    print("exact" if is_exact else "inexact", "quotes: aider:", ", ".join(f"{n} {name}" for name, n in counts.items()))
os.remove(PATH)
