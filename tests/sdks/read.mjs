// What the official JavaScript SDKs make of streams: read.py, in JavaScript.
//
//     node read.mjs FOLDER     where FOLDER/node_modules has the SDKs

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const folder = process.argv[2];
const require = createRequire(resolve(folder, "package.json"));
const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");

const MESSAGES = [{ role: "user", content: "Write down what is to be done." }];
const SCHEMA = { type: "object", properties: {}, additionalProperties: true };
const NAMES = ["TodoWrite", "Bash"];

const streams = [];
for await (const line of createInterface({ input: process.stdin })) streams.push(JSON.parse(line));

/** Whatever the SDK throws is part of what it makes of the stream; what it said until then, too. */
async function reading(way, base) {
  const said = { way: way.name, calls: [], done: [], stop: null, error: null };
  try {
    await way(base, said);
  } catch (error) {
    said.error = `${error.constructor.name}: ${error.message}`;
  }
  return said;
}

// Chat Completions.

const openai = (base) => new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0, timeout: 60_000 });

async function chat_pieces(base, said) {
  const stream = await openai(base).chat.completions.create({ model: "m", messages: MESSAGES, stream: true });
  for await (const chunk of stream) {
    for (const choice of chunk.choices) {
      for (const piece of choice.delta.tool_calls ?? []) {
        const call = (said.calls[piece.index] ??= { id: null, name: "", arguments: "" });
        call.id = piece.id ?? call.id;
        call.name += piece.function.name ?? "";
        call.arguments += piece.function.arguments ?? "";
      }
      said.stop = choice.finish_reason ?? said.stop;
    }
  }
}

async function chat_helper(base, said, tools) {
  const stream = openai(base).chat.completions.stream({ model: "m", messages: MESSAGES, ...(tools && { tools }) });
  stream.on("tool_calls.function.arguments.done", ({ name, arguments: text }) =>
    said.done.push({ name, arguments: text }),
  );
  const [choice] = (await stream.finalChatCompletion()).choices;
  said.stop = choice.finish_reason;
  said.calls = (choice.message.tool_calls ?? []).map(({ id, function: call }) => ({
    id,
    name: call.name,
    arguments: call.arguments,
    ...(tools && { input: call.parsed_arguments }),
  }));
}

function chat_strict(base, said) {
  const tool = (name) => ({ type: "function", function: { name, parameters: SCHEMA, strict: true } });
  return chat_helper(base, said, NAMES.map(tool));
}

// Responses.

async function responses_pieces(base, said) {
  const calls = {};
  for await (const event of await openai(base).responses.create({ model: "m", input: "?", stream: true })) {
    const call = calls[event.output_index];
    if (event.type === "response.output_item.added" && event.item.type === "function_call") {
      calls[event.output_index] = { id: event.item.call_id, name: event.item.name, arguments: "" };
      said.calls.push(calls[event.output_index]);
    } else if (event.type === "response.function_call_arguments.delta") call.arguments += event.delta;
    else if (event.type === "response.function_call_arguments.done")
      said.done.push({ name: call.name, arguments: event.arguments });
    else responses_end(event, said);
  }
}

async function responses_items(base, said) {
  const calls = {};
  for await (const event of await openai(base).responses.create({ model: "m", input: "?", stream: true })) {
    if (event.type === "response.output_item.done" && event.item.type === "function_call")
      calls[event.output_index] = responses_call(event.item);
    else responses_end(event, said);
  }
  said.calls = Object.values(calls); // in the order of their indexes
}

function responses_end(event, said) {
  if (event.type === "error") said.error = `error: ${event.message}`;
  if (["response.completed", "response.incomplete"].includes(event.type)) said.stop = event.response.status;
}

async function responses_helper(base, said, tools) {
  const snapshots = {};
  const stream = openai(base).responses.stream({ model: "m", input: "?", ...(tools && { tools }) });
  stream.on("response.function_call_arguments.delta", (event) => (snapshots[event.output_index] = event.snapshot));
  stream.on("event", (event) => event.type === "error" && (said.error = `error: ${event.message}`));
  const final = await stream.finalResponse();
  if (said.error) return;
  said.stop = final.status;
  final.output.forEach((item, index) => {
    if (item.type !== "function_call") return;
    const input = tools && final.status === "completed" ? { input: item.parsed_arguments } : {};
    said.calls.push({ ...responses_call(item), ...input });
    said.done.push({ name: item.name, arguments: snapshots[index] ?? "" });
  });
}

function responses_strict(base, said) {
  const tool = (name) => ({ type: "function", name, parameters: SCHEMA, strict: true });
  return responses_helper(base, said, NAMES.map(tool));
}

const responses_call = (item) => ({ id: item.call_id, name: item.name, arguments: item.arguments });

// Anthropic's Messages.

const anthropic = (base) => new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0, timeout: 60_000 });

async function anthropic_pieces(base, said) {
  const blocks = {};
  const request = { model: "m", max_tokens: 9, messages: MESSAGES, stream: true };
  for await (const event of await anthropic(base).messages.create(request)) {
    const block = blocks[event.index];
    if (event.type === "content_block_start" && event.content_block.type === "tool_use") {
      blocks[event.index] = { id: event.content_block.id, name: event.content_block.name, arguments: "" };
      said.calls.push(blocks[event.index]);
    } else if (event.type === "content_block_delta" && event.delta.type === "input_json_delta")
      block.arguments += event.delta.partial_json;
    else if (event.type === "content_block_stop" && block)
      said.done.push({ name: block.name, arguments: block.arguments });
    else if (event.type === "message_delta") said.stop = event.delta.stop_reason;
  }
}

async function anthropic_helper(base, said) {
  const stream = anthropic(base).messages.stream({ model: "m", max_tokens: 9, messages: MESSAGES });
  stream.on("contentBlock", ({ type, name, input }) => type === "tool_use" && said.done.push({ name, input }));
  const message = await stream.finalMessage();
  said.stop = message.stop_reason;
  said.calls = message.content
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name, input }) => ({ id, name, input }));
}

const WAYS = {
  chat: [chat_pieces, chat_helper, chat_strict],
  responses: [responses_pieces, responses_items, responses_helper, responses_strict],
  anthropic: [anthropic_pieces, anthropic_helper],
};

/** `POST /7/...` is answered with stream 7. */
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    response.end(streams[Number(request.url.split("/")[1])].stream);
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
for (const [number, { dialect }] of streams.entries()) {
  const base = `http://127.0.0.1:${server.address().port}/${number}`;
  const readings = [];
  for (const way of WAYS[dialect]) readings.push(await reading(way, base));
  console.log(JSON.stringify(readings));
}
const version = (name) => JSON.parse(readFileSync(resolve(folder, "node_modules", name, "package.json"))).version;
console.log(JSON.stringify({ openai: version("openai"), "@anthropic-ai/sdk": version("@anthropic-ai/sdk") }));
server.close();
server.closeAllConnections();
