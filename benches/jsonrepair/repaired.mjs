// Repairs the text of each line of its input, a JSON string, and answers with the repaired text as a JSON string, or
// with `null` where it throws.
import { createInterface } from "node:readline";
import { jsonrepair } from "jsonrepair";

for await (const line of createInterface({ input: process.stdin })) {
  let repaired = null;
  try {
    repaired = jsonrepair(JSON.parse(line));
  } catch {
    // It says so of what it cannot repair.
  }
  console.log(JSON.stringify(repaired));
}
