// A conversation through the gateway with the official SDK. Prints what the client saw, as JSON lines.
//
// Arguments: the base URL; `create` or `stream`; how the answer is echoed, which is always as it came.
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.SDK_NODE, "package.json"));
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk");

const [baseURL, way] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey: "demo", maxRetries: 0 });
const tools = [
  {
    name: "get_weather",
    description: "Get the weather.",
    input_schema: { type: "object", properties: { city: { type: "string" } } },
  },
];
const messages = [{ role: "user", content: "What is the weather in Paris? Ünïcode, 1.0" }];
for (const question of ["And the list?", null]) {
  for (;;) {
    const request = { model: "demo", max_tokens: 1000, tools, messages };
    const answer =
      way === "create" ? await client.messages.create(request) : await client.messages.stream(request).finalMessage();
    console.log(JSON.stringify({ stop_reason: answer.stop_reason, content: answer.content }));
    messages.push({ role: "assistant", content: answer.content });
    if (answer.stop_reason !== "tool_use") break;
    const calls = answer.content.filter((block) => block.type === "tool_use");
    const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "21 degrees" }));
    messages.push({ role: "user", content: results });
  }
  if (question) messages.push({ role: "user", content: question });
}
