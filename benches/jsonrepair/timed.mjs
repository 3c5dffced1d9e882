// Repairs the file given, as often as each line of its input says, and answers with the nanoseconds of processor
// time that took.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { jsonrepair } from "jsonrepair";

const text = readFileSync(process.argv[2], "utf8");
JSON.parse(jsonrepair(text)); // it can, or there is nothing to time

for await (const line of createInterface({ input: process.stdin })) {
  const began = process.cpuUsage();
  for (let left = Number(line); left > 0; left--) jsonrepair(text);
  const { user, system } = process.cpuUsage(began);
  console.log(String((user + system) * 1000));
}
