// The Node peer: an ACP client on the official TypeScript SDK that serves terminals with child_process. It speaks on stdin
// and stdout, and ends with its stdin.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

import { client, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const HAS_GROUPS = process.platform !== "win32";

/** The last bytes of a command's output, in the chunks that they came in. */
class Tail {
  constructor(limit) {
    this.limit = limit;
    this.chunks = [];
    this.size = 0;
    this.truncated = false;
  }

  push(chunk) {
    this.chunks.push(chunk);
    this.size += chunk.length;
    while (this.size - this.chunks[0]?.length >= this.limit) {
      this.size -= this.chunks.shift().length;
      this.truncated = true;
    }
  }

  text() {
    let bytes = Buffer.concat(this.chunks);
    let truncated = this.truncated;
    if (bytes.length > this.limit) {
      let from = bytes.length - this.limit;
      while ((bytes[from] & 0xc0) === 0x80) from++; // from a whole character on
      bytes = bytes.subarray(from);
      truncated = true;
    }
    return { output: bytes.toString("utf8"), truncated };
  }
}

const terminals = new Map();
let next = 0;

function find({ terminalId }) {
  const terminal = terminals.get(terminalId);
  if (!terminal) throw RequestError.resourceNotFound(terminalId);
  return terminal;
}

async function end({ child, closed }) {
  if (child.exitCode === null && child.signalCode === null) {
    if (HAS_GROUPS) process.kill(-child.pid, "SIGKILL");
    else child.kill();
  }
  await closed;
}

async function create({ params }) {
  const child = spawn(params.command, params.args ?? [], {
    cwd: params.cwd ?? undefined,
    env: { ...process.env, ...Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value])) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: HAS_GROUPS,
  });
  const tail = new Tail(params.outputByteLimit ?? 1 << 20);
  child.stdout.on("data", (chunk) => tail.push(chunk));
  child.stderr.on("data", (chunk) => tail.push(chunk));
  const terminal = { child, tail, status: null };
  terminal.closed = new Promise((resolve) =>
    child.on("close", (exitCode, signal) => resolve((terminal.status = { exitCode, signal }))),
  );
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  const terminalId = `term_${++next}`;
  terminals.set(terminalId, terminal);
  return { terminalId };
}

client({ name: "node" })
  .onRequest(methods.client.terminal.create, create)
  .onRequest(methods.client.terminal.output, ({ params }) => {
    const { tail, status } = find(params);
    return status ? { ...tail.text(), exitStatus: status } : tail.text();
  })
  .onRequest(methods.client.terminal.waitForExit, ({ params }) => find(params).closed)
  .onRequest(methods.client.terminal.kill, async ({ params }) => {
    await end(find(params));
    return {};
  })
  .onRequest(methods.client.terminal.release, async ({ params }) => {
    const terminal = find(params);
    terminals.delete(params.terminalId);
    await end(terminal);
    return {};
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

process.stdin.on("end", () => process.exit());
