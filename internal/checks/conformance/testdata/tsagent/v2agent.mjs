// An ACP v2 agent that reports terminals of its own, made from the official TypeScript SDK. It speaks ACP on stdin and
// stdout.
//
// The text of a prompt is the name of a scenario, with arguments after it. Each session/update has in its _meta the
// name of its step, and what a client has to hold after it ("want", see fold.mjs). The last one of a scenario is a
// state_update "idle". The request _acpterm/received is answered with all that the agent has received, and
// _acpterm/end ends the terminal "held", whose cancel is answered before.

import { Readable, Writable } from "node:stream";

import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk/experimental/v2";

import { Terminals } from "./fold.mjs";

const base64 = (bytes) => Buffer.from(bytes).toString("base64");
const chunk = (terminalId, bytes) => ({ sessionUpdate: "terminal_output_chunk", terminalId, data: base64(bytes) });
const terminal = (terminalId, fields) => ({ sessionUpdate: "terminal_update", terminalId, ...fields });
const snapshot = (terminalId, bytes) => terminal(terminalId, { output: { data: base64(bytes) } });
const shows = (...ids) => ids.map((terminalId) => ({ type: "terminal", terminalId }));
const toolCall = (toolCallId, fields) => ({ sessionUpdate: "tool_call_update", toolCallId, ...fields });
const cancellable = { capabilities: { cancel: {} } };

// ---- Scenarios: each sends updates with send(step, update).

const scenarios = {
  /** Each field absent, null and with values. */
  fields: async (send) => {
    await send("new", terminal("t", {}));
    const values = {
      command: ["cargo test", "cargo test --all"],
      cwd: ["/w", "C:\\Users\\w"],
      output: [{ data: base64("one") }, { data: base64("two"), _meta: { a: 1 } }, { data: "" }],
      size: [{ cols: 80, rows: 24 }, { cols: 1, rows: 65535, _meta: null }],
      capabilities: [{ cancel: {} }, {}, { cancel: { _meta: { a: 1 } }, _meta: {} }, { cancel: null }, { cancel: {} }],
      _meta: [{ a: 1, b: { c: [null, 2.5] } }, { b: { d: 1 } }, { a: null }, {}],
    };
    for (const [field, all] of Object.entries(values)) {
      for (const [n, value] of all.entries()) {
        await send(`${field} ${n}`, terminal("t", { [field]: value }));
        await send(`${field} absent after ${n}`, terminal("t", {}));
      }
      await send(`${field} null`, terminal("t", { [field]: null }));
      await send(`${field} null again`, terminal("t", { [field]: null }));
    }
    const all = Object.fromEntries(Object.entries(values).map(([field, [first]]) => [field, first]));
    await send("all at once", terminal("t", all));
    const none = Object.fromEntries(Object.keys(values).map((field) => [field, null]));
    await send("all null at once", terminal("t", none));
    await send("first seen with all", terminal("u", { ...all, exitStatus: null }));
  },

  /** How commands end, each a terminal's. */
  ends: async (send) => {
    const ends = [
      {}, { exitCode: null, signal: null }, { exitCode: 0 }, { exitCode: 3, signal: null }, { signal: "SIGKILL" },
      { exitCode: 137, signal: "SIGKILL", _meta: { a: 1 } }, { exitCode: 4294967295 }, { exitCode: -1073741510 },
      { exitCode: 4294967296 }, { exitCode: Number.MAX_SAFE_INTEGER },
    ];
    for (const [n, exitStatus] of ends.entries()) {
      await send(`runs ${n}`, terminal(`e${n}`, { exitStatus: null, ...cancellable }));
      await send(`ends ${n}`, terminal(`e${n}`, { exitStatus, capabilities: null }));
      await send(`absent after ${n}`, terminal(`e${n}`, { command: "c" }));
      await send(`output after ${n}`, chunk(`e${n}`, "late"));
    }
    await send("better known", terminal("e0", { exitStatus: { exitCode: 7 } }));
  },

  emoji: async (send) => {
    for (const [n, byte] of Buffer.from("😀").entries()) await send(`byte ${n}`, chunk("t", [byte]));
    await send("no bytes", chunk("t", []));
    await send("half", chunk("t", [0xe2, 0x9c]));
    await send("no half", chunk("t", "x\xff".split("").map((c) => c.charCodeAt(0))));
    await send("half at the end", chunk("t", [0xf0, 0x9f]));
    await send("end", terminal("t", { exitStatus: { exitCode: 0 } }));
  },

  snapshots: async (send) => {
    await send("chunk", chunk("t", "one\n"));
    await send("that goes on", snapshot("t", "one\ntwo\n"));
    await send("the same", snapshot("t", "one\ntwo\n"));
    await send("that is shorter", snapshot("t", "two\n"));
    await send("chunk after it", chunk("t", "three\n"));
    await send("within a character", snapshot("t", [0x61, 0xe2, 0x9c]));
    await send("the rest of the character", chunk("t", [0x93]));
    await send("cleared", terminal("t", { output: null }));
    await send("chunk after null", chunk("t", "four"));
    await send("empty", snapshot("t", ""));
    await send("chunk after empty", chunk("t", "five"));
    const output = { data: base64("six") };
    await send("with all else", terminal("t", { command: "c", output, exitStatus: { exitCode: 1 } }));
    await send("after the end", snapshot("t", "seven"));
  },

  /** Tool calls show terminals before and after these are announced. */
  references: async (send) => {
    const begun = { title: "Build", kind: "execute", status: "in_progress" };
    await send("before", toolCall("call_1", { ...begun, content: shows("a") }));
    await send("announced", terminal("a", { command: "make" }));
    await send("chunk of one not announced", chunk("b", "b"));
    await send("after", toolCall("call_1", { content: shows("a", "b") }));
    const text = { type: "content", content: { type: "text", text: "and then" } };
    await send("a chunk", { sessionUpdate: "tool_call_content_chunk", toolCallId: "call_1", content: shows("c")[0] });
    await send("a chunk of text", { sessionUpdate: "tool_call_content_chunk", toolCallId: "call_1", content: text });
    await send("end of the tool call", toolCall("call_1", { status: "completed" }));
    await send("still writes", chunk("a", "a"));
    await send("end of the terminal", terminal("a", { exitStatus: { exitCode: 2 } }));
    await send("a tool call with a terminal's id", toolCall("b", { title: "b", status: "failed", content: null }));
    await send("without content", toolCall("call_1", { content: [] }));
  },

  several: async (send) => {
    for (const id of ["a", "b", "c"]) await send(`begin ${id}`, terminal(id, { command: `make ${id}` }));
    for (let n = 0; n < 10; n++) {
      for (const id of ["c", "a", "b"]) await send(`${id} ${n}`, chunk(id, `${id}${n}\n`));
    }
    await send("end b", terminal("b", { exitStatus: { exitCode: 1 } }));
    await send("c goes on", chunk("c", "on"));
  },

  /** What a random run of valid updates says, by a seed and a count. */
  random: async (send, seed, count) => {
    let state = Number(seed);
    const random = (n) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    const pick = (...all) => all[random(all.length)];
    const piece = () => pick("61", "0a", "c3a9", "f09f9880", "e29c93", "f09f", "9880", "ff", "e29c", "1b5b316d");
    const bytes = () => Buffer.from(Array.from({ length: random(6) }, piece).join(""), "hex");
    const fields = {
      command: () => pick(null, "make", "npm test"),
      cwd: () => pick(null, "/", "/w"),
      output: () => pick(null, { data: base64(bytes()) }),
      size: () => pick(null, { cols: 1 + random(65535), rows: 1 + random(65535) }),
      capabilities: () => pick(null, {}, { cancel: {} }, { cancel: null }),
      _meta: () => pick(null, {}, { a: random(9) }, { a: null }, { b: [random(9)], a: { c: null } }),
    };
    for (let n = 0; n < Number(count); n++) {
      const id = pick("a", "b", "c");
      if (random(2)) {
        await send(`${n}`, chunk(id, bytes()));
        continue;
      }
      const update = terminal(id, {});
      for (const [field, value] of Object.entries(fields)) if (random(3) === 0) update[field] = value();
      if (random(20) === 0) update.exitStatus = pick({}, { exitCode: random(300) }, { signal: "SIGTERM" });
      await send(`${n}`, update);
    }
  },

  /** Terminals that can be cancelled, or not; the names say what cancel does (see cancels). */
  cancels: async (send) => {
    for (const id of [...Object.keys(cancels), "offered"]) await send(`begin ${id}`, terminal(id, cancellable));
    await send("begin plain", terminal("plain", {}));
    await send("withdraw", terminal("offered", { capabilities: {} }));
  },
};

// ---- terminal/cancel: what is done for each terminal. The answer is sent when the function returns.

const refused = (terminalId) => RequestError.invalidParams({ terminalId }, "unknown, exited or not cancellable");
const ends = (terminalId, signal = "SIGTERM") => terminal(terminalId, { exitStatus: { signal }, capabilities: null });
let end; // of the terminal "held"

const cancels = {
  held: async (send) => {
    end = () => send("held ends", ends("held"));
  },
  "ends before the answer": async (send) => {
    await send("early end", ends("ends before the answer"));
  },
  refused: async () => {
    throw refused("refused");
  },
  "ends by itself": async (send) => {
    await send("own end", terminal("ends by itself", { exitStatus: { exitCode: 0 } }));
    throw refused("ends by itself");
  },
};

// ---- The agent.

const received = [];
const held = new Terminals();

/** Sends an update with the step's name and with what a client has to hold then. */
function sender(client, sessionId) {
  return async (step, update) => {
    held.apply(update);
    const params = { sessionId, update, _meta: { step, want: held.toJSON() } };
    await client.notify(methods.client.session.update, params);
  };
}

const app = agent({ name: "acpterm-v2agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    info: { name: "acpterm-v2agent", version: "0.0.0" },
    capabilities: { session: {} },
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "s1" }))
  .onRequest(methods.agent.session.prompt, ({ client, params: { sessionId, prompt } }) => {
    const [name, ...args] = prompt[0].text.split(" ");
    if (!Object.hasOwn(scenarios, name)) throw RequestError.invalidParams({ name }, "there is no such scenario");
    const send = sender(client, sessionId);
    queueMicrotask(async () => {
      await send("running", { sessionUpdate: "state_update", state: "running" });
      await scenarios[name](send, ...args);
      await send("over", { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
    });
    return { messageId: "m1" };
  })
  .onRequest("_acpterm/received", (params) => params, () => ({ received }))
  .onRequest("_acpterm/end", (params) => params, async () => {
    await end();
    return {};
  })
  .onRequest(methods.agent.terminal.cancel, async ({ client, params: { sessionId, terminalId } }) => {
    if (!Object.hasOwn(cancels, terminalId)) throw refused(terminalId);
    await cancels[terminalId](sender(client, sessionId));
    return {};
  });

const { readable, writable } = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const tap = new TransformStream({
  transform(message, controller) {
    received.push(message);
    controller.enqueue(message);
  },
});
app.connect({ readable: readable.pipeThrough(tap), writable });
