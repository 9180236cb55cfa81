// An MCP client made with the official TypeScript SDK, which tries out every tool of acpterm.
//
//   node client.mjs '{"sdk": 1, "command": PROGRAM, "args": [...], "env": {...}}'
//   node client.mjs '{"sdk": 2, "url": URL, "headers": {...}}'
//
// Version 1 of the SDK speaks MCP 2025-11-25. Version 2 speaks 2026-07-28 if the server does.
//
// The server has to run commands in this program's working directory, ask about "touch" and deny "rm". The program
// prints "ok: " and the name of each scenario that holds. It fails at the first that does not.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";

const config = JSON.parse(process.argv[2]);
const sdk = config.sdk === 1
  ? {
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/types.js")),
  }
  : { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };

const transport = config.url
  ? new sdk.StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers: config.headers } })
  : new sdk.StdioClientTransport({ command: config.command, args: config.args, env: config.env, stderr: "inherit" });
const client = new sdk.Client(
  { name: "tester", version: "1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
);

/** Version 1 of the SDK has a parameter before the options. */
const callTool = (params, options) =>
  config.sdk === 1 ? client.callTool(params, sdk.CallToolResultSchema, options) : client.callTool(params, options);

/** What the user answers, and the questions so far. */
let answer;
const questions = [];
client.setRequestHandler(config.sdk === 1 ? sdk.ElicitRequestSchema : "elicitation/create", async ({ params }) => {
  questions.push(params);
  return answer;
});

/** Calls a tool that succeeds. The SDK checks the structured result against the tool's schema. */
async function call(name, args, options) {
  const result = await callTool({ name, arguments: args }, { timeout: 300_000, ...options });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.content[0].type, "text");
  return result.structuredContent;
}

/** Calls a tool that fails, and returns the text for the model. */
async function fails(name, args) {
  const result = await callTool({ name, arguments: args });
  assert.ok(result.isError, JSON.stringify(result));
  return result.content[0].text;
}

/** Calls a tool, and cancels the call at the first progress whose message contains a text. */
async function cancel(name, args, text) {
  const controller = new AbortController();
  const onprogress = ({ message }) => message.includes(text) && controller.abort("the user pressed stop");
  await assert.rejects(call(name, args, { signal: controller.signal, onprogress }), /the user pressed stop/);
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const newest = async () => (await call("list")).commands.at(-1);

const scenarios = {
  async tools() {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name).sort(), ["kill", "list", "output", "release", "run", "wait", "write"]);
    for (const tool of tools) {
      assert.ok(tool.title && tool.description && tool.outputSchema, tool.name);
      assert.equal(tool.annotations.readOnlyHint ?? false, ["list", "output", "wait"].includes(tool.name), tool.name);
    }
    assert.equal(client.getServerVersion().name, "acpterm");
    assert.match(client.getInstructions(), /run starts a command/);
    if (config.sdk === 1) await client.ping(); // later versions of MCP have no such method
  },

  async run() {
    const line = await call("run", { command: "echo one; exit 3", description: "says one" });
    assert.equal(line.output, "one\n");
    assert.deepEqual([line.state, line.exit_code, line.ended_by], ["ended", 3, undefined]);
    const env = { GREETING: "grüße 🦀" };
    const program = await call("run", { command: "printenv", args: ["GREETING"], cwd: ".", env });
    assert.equal(program.output, "grüße 🦀\n");
    assert.equal((await newest()).command, "printenv GREETING");
  },

  async "long output"() {
    const all = Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join("");
    const cut = await call("run", { command: "seq 20000" });
    assert.ok(cut.omitted_bytes > 0 && cut.output.startsWith("1\n2\n") && cut.output.endsWith("\n20000\n"));
    assert.match(cut.output, /bytes omitted/);
    let text = "";
    for (let offset = 0, more = true; more; ) {
      const part = await call("output", { id: cut.id, offset, show: "start" });
      assert.equal(part.offset ?? 0, offset);
      // Where a part ends, a mark says so.
      text += part.output.slice(0, part.more ? part.next_offset - offset : undefined);
      ({ next_offset: offset, more = false } = part);
    }
    assert.equal(text, all);
    const end = await call("output", { id: cut.id, offset: -6, max_bytes: 2000 });
    assert.equal(end.output, "20000\n");
  },

  async progress() {
    const reports = [];
    const onprogress = (p) => {
      reports.push(p);
      if (p.message.includes("waiting")) writeFileSync("go", "");
    };
    const line = "echo waiting; until test -e go; do sleep 0.05; done; echo done";
    const result = await call("run", { command: line, wait_ms: 300_000 }, { onprogress });
    assert.equal(result.output, "waiting\ndone\n");
    assert.ok(reports.length > 0);
    assert.deepEqual(reports.map((p) => p.progress).sort((a, b) => a - b), reports.map((p) => p.progress));
  },

  async background() {
    const server = await call("run", { command: "echo starting; echo ready; exec sleep 1000", wait_ms: 0 });
    assert.ok(["starting", "running"].includes(server.state));
    const ready = await call("wait", { id: server.id, until: "ready", wait_ms: 300_000 });
    assert.deepEqual([ready.matched, ready.state], [true, "running"]);
    const again = await call("wait", { id: server.id, until_regexp: "^st[a-z]+$", wait_ms: 0 });
    assert.deepEqual([again.matched_line, again.output], ["starting", ""]); // shown before
    const rest = await call("output", { id: server.id, offset: "starting\n".length });
    assert.equal(rest.output, "ready\n");
    assert.deepEqual([(await newest()).id, (await newest()).state], [server.id, "running"]);
    const killed = await call("kill", { id: server.id });
    assert.deepEqual([killed.state, killed.signal, killed.ended_by, killed.output], ["ended", "SIGTERM", "killed", ""]);
    assert.equal((await call("wait", { id: server.id, offset: 0 })).output, "starting\nready\n");
    assert.deepEqual(await call("release", { id: server.id }), { id: server.id });
    assert.match(await fails("output", { id: server.id }), /Call list to see the ids/);
  },

  async "many at once"() {
    const runs = await Promise.all(Array.from({ length: 30 }, (_, i) => call("run", { command: `echo ${i}` })));
    assert.deepEqual(runs.map((r) => r.output), runs.map((_, i) => `${i}\n`));
    for (const { id } of runs) await call("release", { id });
  },

  async cancellation() {
    const line = "while true; do echo tick; sleep 0.1; done";
    await cancel("run", { command: line, wait_ms: 300_000 }, "tick");
    const { id, state } = await newest();
    assert.equal(state, "running");
    await cancel("wait", { id, until: "never", wait_ms: 300_000 }, "tick");
    assert.equal((await newest()).state, "running");
    assert.equal((await call("kill", { id })).ended_by, "killed");
    await cancel("run", { command: line, wait_ms: 300_000, kill_on_cancel: true }, "tick");
    const killed = await newest();
    assert.notEqual(killed.id, id);
    assert.equal((await call("wait", { id: killed.id, wait_ms: 300_000 })).ended_by, "killed");
  },

  async elicitation() {
    answer = { action: "accept", content: { answer: "allow_once" } };
    await call("run", { command: "touch allowed" });
    assert.ok(existsSync("allowed"));
    assert.match(questions[0].message, /touch allowed/);
    assert.ok(questions[0].requestedSchema.properties.answer.enum.includes("allow_once"));
    for (const refusal of [
      { action: "accept", content: { answer: "reject_once" } }, { action: "decline" }, { action: "cancel" },
    ]) {
      answer = refusal;
      assert.match(await fails("run", { command: "touch refused" }), /the user (denied|dismissed)/);
    }
    assert.equal(questions.length, 4);
    assert.match(await fails("run", { command: "rm allowed" }), /Do not try to run the same thing in another way/);
    assert.ok(existsSync("allowed") && !existsSync("refused"));
    answer = { action: "accept", content: { answer: "allow_session" } };
    for (const _ of "12") await call("run", { command: "touch again" });
    assert.equal(questions.length, config.remembers ? 5 : 6);
  },

  async mistakes() {
    for (const [name, args, text] of [
      ["run", {}, /command/], ["run", { command: 7 }, /command/], ["run", { command: "true", argv: [] }, /argv/],
      ["output", { id: "term_unknown" }, /Call list/], ["wait", { id: "", until_regexp: "(" }, /Call list/],
      ["run", { command: "no-such-program", args: [] }, /Check the name of the program/],
      ["run", { command: "true", cwd: "no-such-directory" }, /existing directory/],
    ]) assert.match(await fails(name, args), text);
    await assert.rejects(callTool({ name: "exec" }), { code: -32602 });
  },

  /** Ends with a command that still runs and, over HTTP, a call that waits for it. */
  async end() {
    const line = "echo $$; while true; do echo tick; sleep 0.1; done";
    const last = await call("run", { command: line, wait_ms: 0 });
    const first = await call("wait", { id: last.id, until_regexp: "[0-9]+", offset: 0, wait_ms: 300_000 });
    const pid = Number(first.output.split("\n")[0]);
    assert.ok(isRunning(pid));
    if (config.url) {
      let waits;
      const waiting = new Promise((resolve) => (waits = resolve));
      const params = { name: "wait", arguments: { id: last.id, until: "never", wait_ms: 300_000 } };
      const pending = callTool(params, { timeout: 300_000, onprogress: waits });
      await waiting;
      await Promise.all([transport.terminateSession(), pending]); // which has a response
    }
    await client.close();
    for (const begin = Date.now(); isRunning(pid); ) {
      assert.ok(Date.now() < begin + 60_000, "the command survived the session");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
};

await client.connect(transport);
for (const [name, scenario] of Object.entries(scenarios)) {
  await scenario();
  console.log(`ok: ${name}`);
}
