// MCP's forms, as its official SDK for TypeScript has them.
//
//     node mcp.mjs FOLDER           what a client of the SDK hears from servers of the SDK: mcp.json
//     node mcp.mjs FOLDER - < it    what it hears from a server that sends the tools and results of such a file
//
// FOLDER/node_modules has the SDK.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "package.json"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { InMemoryTransport } = require("@modelcontextprotocol/sdk/inMemory.js");
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema, LATEST_PROTOCOL_VERSION, ListToolsRequestSchema } = require(
  "@modelcontextprotocol/sdk/types.js",
);
const { z } = require("zod");

const ABOUT = { name: "kitchen", version: "1.0.0" };

/** A server that declares its tools by the SDK's own types. */
function kitchen() {
  const server = new McpServer(ABOUT);
  const annotations = {
    title: "Read it",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  };
  const inputSchema = {
    day: z.enum(["today", "tomorrow"]).describe("Which day."),
    vegetarian: z.boolean().optional(),
    seats: z.number().int().min(1).max(12).default(2),
  };
  server.registerTool(
    "menu.read",
    { title: "Menu", description: "Read the menu.", inputSchema, annotations, _meta: { "example.com/cost": 3 } },
    () => ({ content: CONTENT, _meta: { "example.com/took": 7 } }),
  );
  const outputSchema = { meal: z.string(), price: z.number() };
  server.registerTool("menu.price", { description: "Return a price.", inputSchema: { meal: z.string() }, outputSchema }, () => {
    const structuredContent = { meal: "soup", price: 4.5 };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  });
  server.registerTool("menu.order", { description: "Order a meal." }, () => {
    throw new Error("the kitchen is closed");
  });
  return server;
}

/** Content of every type, with every field. */
const CONTENT = [
  { type: "text", text: "Soup.", annotations: { audience: ["user", "assistant"], priority: 0.5 }, _meta: { a: 1 } },
  { type: "image", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", mimeType: "image/png" },
  { type: "image", data: "PHN2Zy8+", mimeType: "image/svg+xml" },
  { type: "audio", data: "UklGRgAAAAA=", mimeType: "audio/wav" },
  {
    type: "resource_link",
    uri: "file:///menu.md",
    name: "menu.md",
    title: "The menu",
    description: "What there is today.",
    mimeType: "text/markdown",
    size: 120,
    icons: [{ src: "https://example.com/menu.png", mimeType: "image/png", sizes: ["48x48"] }],
    annotations: { lastModified: "2026-11-24T12:00:00Z" },
  },
  { type: "resource", resource: { uri: "file:///menu.md", mimeType: "text/markdown", text: "# Menu\n" } },
  { type: "resource", resource: { uri: "file:///soup.png", mimeType: "image/png", blob: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=" } },
  { type: "resource", resource: { uri: "file:///menu.pdf", mimeType: "application/pdf", blob: "JVBERg==" } },
];

/** A server that sends what it is given. */
function repeater({ tools, results }) {
  const server = new Server(ABOUT, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => results[params.name]);
  return server;
}

/** The fields that no server of the SDK declares by itself. */
const FULL = {
  tools: [
    {
      name: "oven",
      title: "Oven",
      description: "Heat the oven.",
      inputSchema: { type: "object", properties: { degrees: { type: "integer", maximum: 250 } }, required: ["degrees"] },
      outputSchema: { type: "object", properties: { ready: { type: "boolean" } }, required: ["ready"] },
      annotations: { title: "Heat", destructiveHint: true },
      execution: { taskSupport: "optional" },
      icons: [{ src: "https://example.com/oven.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }],
      _meta: { "example.com/room": "kitchen" },
    },
  ],
  results: { oven: { content: [], structuredContent: { ready: true } } },
};

/** What a client hears; it checks each answer against the SDK's types, and values against the schemas of their tools. */
async function heard(server, toolArguments = {}) {
  const client = new Client({ name: "guest", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  const { tools } = await client.listTools();
  const results = {};
  for (const { name } of tools) {
    results[name] = await client.callTool({ name, arguments: toolArguments[name] ?? {} });
  }
  await client.close();
  return { tools, results };
}

const fixture = async () => {
  const ours = await heard(kitchen(), { "menu.read": { day: "today" }, "menu.price": { meal: "soup" } });
  const full = await heard(repeater(FULL));
  return {
    protocol: LATEST_PROTOCOL_VERSION,
    tools: [...ours.tools, ...full.tools],
    results: { ...ours.results, ...full.results },
  };
};

const made = process.argv[3] === "-" ? await heard(repeater(JSON.parse(readFileSync(0, "utf8")))) : await fixture();
console.log(JSON.stringify(made, null, 2));
