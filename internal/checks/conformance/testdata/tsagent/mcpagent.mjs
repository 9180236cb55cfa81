// An ACP agent that runs commands through the MCP servers of its client. It is made from the official TypeScript SDKs of
// ACP and MCP, and speaks ACP on stdin and stdout.
//
//   node mcpagent.mjs 1|2 [http]
//
// The first argument is the version of ACP. With http, the agent supports MCP servers over HTTP.
//
// The text of a prompt is a shell line. An agent_message_chunk has the outcome as JSON: the names of the tools and the
// version of MCP ("tools", "version"), the result of the tool ("result") and its progress ("progress"), or an error
// ("error"). When progress is reported, the agent creates the file "reported" in the session's directory.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";

import * as v2 from "@agentclientprotocol/sdk/experimental/v2/unstable";
import * as v1 from "@agentclientprotocol/sdk/unstable";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const version = Number(process.argv[2]);
const hasHTTP = process.argv.includes("http");
const { agent, methods, ndJsonStream } = version === 1 ? v1 : v2;

const pairs = (list) => Object.fromEntries((list ?? []).map(({ name, value }) => [name, value]));

/** The transport to an element of mcpServers. */
function transport(server) {
  if (server.type === "http") {
    return new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: pairs(server.headers) } });
  }
  const { command, args } = server;
  return new StdioClientTransport({ command, args, env: { ...getDefaultEnvironment(), ...pairs(server.env) } });
}

const info = { name: "acpterm-mcpagent", version: "0.0.0" };

/** Connects to an element of mcpServers. Over stdio, the newest version of MCP is used. */
async function connect(server) {
  const mode = server.type === "http" ? "legacy" : "auto";
  const mcp = new Client(info, { versionNegotiation: { mode } });
  await mcp.connect(transport(server));
  return mcp;
}

/** Runs a shell line by the tool run. */
async function runTool(session, command) {
  session.server ??= await connect(session.mcpServers[0]);
  const { tools } = await session.server.listTools();
  const progress = [];
  const onprogress = ({ message }) => {
    progress.push(message);
    writeFileSync(path.join(session.cwd, "reported"), "");
  };
  const result = await session.server.callTool({ name: "run", arguments: { command } }, { onprogress });
  const protocol = session.server.getNegotiatedProtocolVersion();
  return { tools: tools.map(({ name }) => name), version: protocol, result, progress };
}

const sessions = new Map();

async function play({ params: { sessionId, prompt }, client }) {
  const session = sessions.get(sessionId);
  let outcome;
  try {
    outcome = await runTool(session, prompt[0].text);
  } catch (error) {
    outcome = { error: String(error) };
  }
  const content = { type: "text", text: JSON.stringify(outcome) };
  const update = { sessionUpdate: "agent_message_chunk", messageId: randomUUID(), content };
  await client.notify(methods.client.session.update, { sessionId, update });
}

const capabilities = {
  1: { agentCapabilities: { mcpCapabilities: { http: hasHTTP }, sessionCapabilities: { close: {} } } },
  2: { capabilities: { session: { mcp: { stdio: {}, ...(hasHTTP && { http: {} }) } } } },
};

agent(info)
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: version, ...(version === 1 ? { agentInfo: info } : { info }), ...capabilities[version],
  }))
  .onRequest(methods.agent.session.new, ({ params: { cwd, mcpServers } }) => {
    const session = { id: randomUUID(), cwd, mcpServers };
    sessions.set(session.id, session);
    return { sessionId: session.id };
  })
  .onRequest(methods.agent.session.prompt, async (turn) => {
    if (version === 1) {
      await play(turn);
      return { stopReason: "end_turn" };
    }
    queueMicrotask(() => play(turn));
    return { messageId: randomUUID() };
  })
  .onRequest(methods.agent.session.close, async ({ params: { sessionId } }) => {
    await sessions.get(sessionId).server?.close();
    return {};
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
