// The edits of tool-builtins' property test, made by other tools: right, refused, wrong.
//
//   EDIT_CASES=/tmp/cases.jsonl cargo test -p tool-builtins --features files --test files property
//   npm install --prefix /tmp/peers @modelcontextprotocol/server-filesystem@2026.8.31 @google/gemini-cli-core@0.61.0
//   python3 -m venv /tmp/aider && /tmp/aider/bin/pip install --no-deps aider-chat==0.86.2
//   node edits.mjs /tmp/cases.jsonl /tmp/peers
//   /tmp/aider/bin/python edits.py /tmp/cases.jsonl
//
// A case has the bytes of a file, a quote, its replacement, and the bytes after the exact edit. A result is right if it has these bytes, "ends"
// if only line ends, the byte order mark and the end of the file differ from them, otherwise wrong, and refused if the tool reports an error. The other tools run as in their programs, with their own reading and writing of files, but without a
// model that corrects a failed edit (gemini-cli asks one; without a model, the edit is refused).
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [casesFile, peers] = process.argv.slice(2);
const cases = fs.readFileSync(casesFile, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const modules = path.join(path.resolve(peers), "node_modules");
const load = (name) => import(pathToFileURL(path.join(modules, name)));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "edits-"));
const file = path.join(folder, "f");

const { applyFileEdits } = await load("@modelcontextprotocol/server-filesystem/dist/lib.js");
const mcp = (old, replacement) => applyFileEdits(file, [{ oldText: old, newText: replacement }]);

const { EditTool } = await load("@google/gemini-cli-core/dist/src/tools/edit.js");
const { StandardFileSystemService } = await load("@google/gemini-cli-core/dist/src/services/fileSystemService.js");
// Settings that an edit without an editor, a plan and a model reads.
const settings = {
  getTargetDir: () => folder,
  getProjectRoot: () => folder,
  getFileSystemService: () => new StandardFileSystemService(),
  getDisableLLMCorrection: () => true,
  validatePathAccess: () => null,
  isPlanMode: () => false,
};
const config = new Proxy(settings, { get: (target, name) => target[name] ?? (() => undefined) });
const tool = new EditTool(config, new Proxy({}, { get: () => () => undefined }));
const gemini = async (old, replacement) => {
  const parameters = { file_path: file, old_string: old, new_string: replacement, instruction: "edit" };
  const result = await tool.build(parameters).execute({ abortSignal: new AbortController().signal });
  if (result.error) throw new Error(result.error.message);
};

const text = (bytes) => bytes.toString("utf8").replace(/[\r\ufeff]/g, "").replace(/\n+$/, "");

const edit = async (run, { old, new: replacement, before, after }) => {
  fs.writeFileSync(file, Buffer.from(before, "base64"));
  try {
    await run(old, replacement);
  } catch (error) {
    if (process.env.EDIT_ERRORS) console.error(error);
    return "refused";
  }
  const [edited, expected] = [fs.readFileSync(file), Buffer.from(after, "base64")];
  if (edited.equals(expected)) return "right";
  return text(edited) === text(expected) ? "ends" : "wrong";
};

for (const isExact of [false, true]) {
  const chosen = cases.filter((one) => one.is_exact === isExact);
  console.log(`${isExact ? "exact" : "inexact"} quotes: ${chosen.length}`);
  const applied = chosen.filter((one) => one.applied).length;
  console.log(`tool-builtins: ${applied} right, ${chosen.length - applied} refused, 0 ends, 0 wrong`);
  for (const [name, run] of [["server-filesystem", mcp], ["gemini-cli", gemini]]) {
    const counts = { right: 0, refused: 0, ends: 0, wrong: 0 };
    for (const one of chosen) counts[await edit(run, one)] += 1;
    console.log(`${name}: ${counts.right} right, ${counts.refused} refused, ${counts.ends} ends, ${counts.wrong} wrong`);
  }
}
fs.rmSync(folder, { recursive: true });
process.exit(0);
