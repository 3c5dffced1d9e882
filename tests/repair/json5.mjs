// Compares repairs with what the reference implementation of JSON5 reads.
//
//     node json5.mjs FOLDER     where FOLDER/node_modules has json5
//
// A line of input is a JSON list `[text, status, result]`. At the end comes one JSON object: how many of each outcome,
// and the shortest that are wrong.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const JSON5 = createRequire(resolve(process.argv[2], "package.json"))("json5");
console.warn = () => {}; // U+2028 in a string is JSON5, with a warning

const counts = {};
const wrong = [];
const refused = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [text, status, result] = JSON.parse(line);
  const outcome = judge(text, status, result);
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  if (outcome === "wrong" || outcome === "not JSON5") wrong.push([text, status, result]);
  else if (outcome !== "repaired" && outcome !== "valid") refused.push(text);
}
const shortest = (texts, length) => texts.sort((a, b) => length(a) - length(b)).slice(0, 20);
console.log(
  JSON.stringify({
    counts,
    wrong: shortest(wrong, ([text]) => text.length),
    refused: shortest(refused, (text) => text.length),
  }),
);

function judge(text, status, result) {
  let meant;
  try {
    meant = JSON5.parse(text);
  } catch {
    return "not JSON5";
  }
  if (status !== "valid" && status !== "repaired") return result === text ? status : "wrong";
  try {
    return same(meant, JSON.parse(result)) ? status : "wrong";
  } catch {
    return "wrong";
  }
}

// Equal, with keys in the same order; 0 and -0 are two.
function same(one, other) {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return Object.is(one, other);
  }
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [keys, others] = [Object.keys(one), Object.keys(other)];
  return keys.length === others.length && keys.every((key, place) => key === others[place] && same(one[key], other[key]));
}
