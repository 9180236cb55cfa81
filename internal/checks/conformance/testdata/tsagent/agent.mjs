// An ACP v1 agent that tries out its client's terminals. It is made of the official TypeScript SDK, so
// that what acpterm serves is held against somebody else's idea of the protocol.
//
// It speaks ACP on stdin and stdout. The text of a prompt is the name of a scenario, or "all". Each
// step is reported as an agent_message_chunk with a line "ok: ..." or "FAIL: ..." (these on stderr,
// too), and the turn ends with end_turn when all held, else with refusal.
//
// Started with --list, it prints the names of the scenarios and ends.

import { randomUUID } from "node:crypto";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";

const INVALID_PARAMS = -32602;
const NOT_FOUND = -32002;
const CANCELLED = -32800;

// How long a scenario may take, so that one that hangs fails; the longest takes two seconds on a machine that has time.
const SCENARIO_TIMEOUT = 300_000;

// Windows ends processes without a signal.
const HAS_SIGNALS = process.platform !== "win32";

// ---- What the terminals run: functions that are sent as text to another node. They write with
// writeSync, because that is in the pipe when it returns.

/** The command and arguments that run a function in a node of its own. */
function nodeRuns(fn, ...args) {
  return { command: process.execPath, args: ["-e", `(${fn})()`, "--", ...args] };
}

function describeItself() {
  const fs = require("fs");
  let stdin = "";
  try {
    stdin = fs.readFileSync(0, "utf8");
  } catch (error) {
    if (error.code !== "EOF") throw error; // so Windows says that there is nothing to read
  }
  const args = process.argv.slice(1);
  const about = { args, env: process.env.ACPTERM_TEST, cwd: process.cwd(), stdin };
  fs.writeSync(1, JSON.stringify(about) + "\n");
  fs.writeSync(2, "on stderr\n");
  fs.writeSync(1, "on stdout\n");
}

function exitWithThree() {
  require("fs").writeSync(2, "it went wrong\n");
  process.exit(3);
}

/** Prints lines. At the half it waits until the file halfway exists, if it is given. */
function printLines() {
  const [name, count, pause, halfway] = process.argv.slice(1);
  const fs = require("fs");
  let n = 0;
  const timer = setInterval(() => {
    if (n === count / 2 && halfway && !fs.existsSync(halfway)) return;
    fs.writeSync(1 + (n % 2), `${name} ${++n} ✓\n`);
    if (n === Number(count)) clearInterval(timer);
  }, Number(pause));
}

/** What printLines prints. */
function linesOf(name, count) {
  return Array.from({ length: count }, (_, i) => `${name} ${i + 1} ✓\n`).join("");
}

/** Prints a text, byte by byte. At the half it waits until the file halfway exists, if it is given. */
function printBytes() {
  const [text, pause, halfway] = process.argv.slice(1);
  const fs = require("fs");
  const bytes = Buffer.from(text);
  let n = 0;
  const timer = setInterval(() => {
    if (n === bytes.length >> 1 && halfway && !fs.existsSync(halfway)) return;
    fs.writeSync(1, bytes, n++, 1);
    if (n === bytes.length) clearInterval(timer);
  }, Number(pause));
}

/** One MiB, to the byte, of what JSON, a terminal, or a line reader has a special way with. */
function megabyte() {
  const lines = [];
  let left = 1 << 20;
  for (let n = 0; left > 200; n++) {
    const line = `\x1b[3${n % 8}m${n}\x1b[0m\t"quoted" 'too' \\ / \\u0041 <&> é ✓ 😀 \u2028\u2029\x7f\0\r\n`;
    lines.push(line);
    left -= Buffer.byteLength(line);
  }
  return lines.join("") + "x".repeat(left);
}

/** Prints what a function returns, in pieces that end anywhere, also inside of characters. */
function printResult() {
  const bytes = Buffer.from(eval(`(${process.argv[1]})()`));
  let written = 0;
  const timer = setInterval(() => {
    written += require("fs").writeSync(1, bytes, written, Math.min(65_521, bytes.length - written));
    if (written === bytes.length) clearInterval(timer);
  }, 5);
}

function saysReadyAndStays() {
  require("fs").writeSync(1, "ready\n");
  setTimeout(() => {}, 24 * 3_600_000);
}

// ---- The scenarios. Each gets the Run that it reports to.

const scenarios = {
  "create-wait": async (run) => {
    const args = ["plain", "with space", "", 'quo"te', "é✓😀"];
    const terminal = await run.open("Describe itself", {
      ...nodeRuns(describeItself, ...args),
      env: [
        { name: "ACPTERM_TEST", value: "first" },
        { name: "ACPTERM_TEST", value: "last = é" },
      ],
      cwd: run.cwd,
    });
    run.equal("the exit status", status(await terminal.waitForExit()), { exitCode: 0, signal: null });

    const result = await terminal.currentOutput();
    const [about, ...rest] = result.output.split("\n");
    run.equal("what the command sees", JSON.parse(about), {
      args,
      env: "last = é",
      cwd: realpathSync.native(run.cwd),
      stdin: "",
    });
    run.equal("stderr and stdout in the order of writing", rest, ["on stderr", "on stdout", ""]);
    run.equal("truncated", result.truncated, false);
    run.equal("the output's exit status", status(result.exitStatus), { exitCode: 0, signal: null });
    await run.release(terminal);
  },

  failing: async (run) => {
    const terminal = await run.open("Fail", nodeRuns(exitWithThree));
    const failed = { exitCode: 3, signal: null };
    run.equal("the exit status", status(await terminal.waitForExit()), failed);
    const result = await terminal.currentOutput();
    run.equal("the output", result.output, "it went wrong\n");
    run.equal("the output's exit status", status(result.exitStatus), failed);
    run.equal("a second wait", status(await terminal.waitForExit()), failed);
    await run.release(terminal);
  },

  poll: async (run) => {
    const lines = 30;
    const halfway = halfwayFile();
    const terminal = await run.open("Print lines", nodeRuns(printLines, "line", String(lines), "20", halfway));
    const first = await terminal.currentOutput();
    run.check("there is no exit status while it runs", first.exitStatus == null, first.exitStatus);

    const polls = await pollUntilExit(terminal, 50, halfway);
    run.growing(polls);
    run.check("nothing was truncated", polls.every((poll) => !poll.truncated));
    run.equal("the last output", polls.at(-1).output, linesOf("line", lines));
    run.equal("the output's exit status", status(polls.at(-1).exitStatus), { exitCode: 0, signal: null });
    await run.release(terminal);
  },

  kill: async (run) => {
    const terminal = await run.open("Sleep", nodeRuns(saysReadyAndStays));
    const waiting = terminal.waitForExit();
    await outputIs(terminal, "ready\n");
    await terminal.kill();
    const ended = status(await waiting);
    if (HAS_SIGNALS) {
      run.equal("the pending wait", ended, { exitCode: null, signal: "SIGTERM" });
    } else {
      run.check("the pending wait has an exit code", Number.isInteger(ended.exitCode), ended);
    }

    const result = await terminal.currentOutput();
    run.equal("the output after the kill", result.output, "ready\n");
    run.equal("the output's exit status", status(result.exitStatus), ended);
    await terminal.kill();
    run.equal("a wait after a second kill", status(await terminal.waitForExit()), ended);
    await run.release(terminal);
  },

  "release-while-running": async (run) => {
    const terminal = await run.open("Sleep", nodeRuns(saysReadyAndStays));
    const waiting = terminal.waitForExit();
    await outputIs(terminal, "ready\n");
    await run.release(terminal);
    const ended = status(await waiting);
    run.check("the pending wait returned", true, ended);
    if (HAS_SIGNALS) {
      run.equal("the pending wait", ended, { exitCode: null, signal: "SIGTERM" });
    }
    await run.fails("output after release", NOT_FOUND, terminal.currentOutput());
    await run.fails("wait after release", NOT_FOUND, terminal.waitForExit());
    await run.fails("kill after release", NOT_FOUND, terminal.kill());
    await terminal.release();
    run.check("a second release is no error", true);
  },

  cancel: async (run) => {
    const terminal = await run.open("Print lines for long", nodeRuns(printLines, "line", "100000", "20"));
    const uncancelled = terminal.waitForExit();
    uncancelled.catch(() => {}); // it is awaited below; a step in between may fail first
    // The handle's waitForExit cannot be cancelled; the request that it sends can.
    const wait = (options) =>
      run.client.request(
        methods.client.terminal.waitForExit,
        { sessionId: run.sessionId, terminalId: terminal.id },
        options,
      );

    // The SDK sends $/cancel_request when the signal aborts, and goes on waiting for the answer.
    const pending = new AbortController();
    const waiting = run.fails(
      "a wait that was cancelled",
      CANCELLED,
      wait({ cancellationSignal: pending.signal }),
      "cancelled",
    );
    await terminal.currentOutput(); // requests are read in their order, so the client has the wait now
    pending.abort();
    await waiting;

    // It is cancelled by the message after it, when the client may just have begun with it.
    const before = { cancellationSignal: AbortSignal.abort() };
    await run.fails("a wait that was cancelled as it was sent", CANCELLED, wait(before), "cancelled");

    // With stopWaitingOnCancel the SDK makes the error itself and drops the client's answer.
    const abandoned = { cancellationSignal: AbortSignal.abort("given up"), stopWaitingOnCancel: true };
    try {
      run.check("a wait that was given up", false, await wait(abandoned));
    } catch (error) {
      run.equal("a wait that was given up: the SDK's error", [error.code, error.data], [CANCELLED, "given up"]);
    }

    const { output } = await terminal.currentOutput();
    let later;
    do {
      await sleep(20);
      later = await terminal.currentOutput();
    } while (later.output.length <= output.length && later.exitStatus == null);
    run.check("the command has not ended", later.exitStatus == null, later.exitStatus);
    run.check("the command goes on printing", later.output.startsWith(output), { output, later });
    await terminal.kill();
    const ended = status(await uncancelled);
    if (HAS_SIGNALS) {
      run.equal("the wait that was not cancelled", ended, { exitCode: null, signal: "SIGTERM" });
    } else {
      run.check("the wait that was not cancelled has an exit code", Number.isInteger(ended.exitCode), ended);
    }
    run.equal("a wait after the kill", status(await wait()), ended);
    run.equal("the output's exit status", status((await terminal.currentOutput()).exitStatus), ended);
    await run.release(terminal);
  },

  megabyte: async (run) => {
    const want = megabyte();
    const terminal = await run.open("Print a megabyte", nodeRuns(printResult, String(megabyte)));
    const growing = await pollUntilExit(terminal, 10);
    const jump = growing.map(({ output }) => difference(output, want.slice(0, output.length))).find(Boolean);
    run.check("each output is the beginning of what is printed", !jump, jump);

    const polls = [];
    for (let n = 0; n < 50; n++) {
      polls.push(await terminal.currentOutput());
    }
    polls.push(...(await Promise.all(Array.from({ length: 10 }, () => terminal.currentOutput()))));
    const wrong = polls.map(({ output }) => difference(output, want)).find(Boolean);
    run.check("each of 50 outputs one after the other and 10 at once is what was printed", !wrong, wrong);
    run.check("nothing was truncated", polls.every((poll) => !poll.truncated));
    const statuses = new Set(polls.map((poll) => JSON.stringify(status(poll.exitStatus))));
    run.equal("their exit statuses", [...statuses], ['{"exitCode":0,"signal":null}']);
    await run.release(terminal);
  },

  "two-at-once": async (run) => {
    const halfways = [halfwayFile(), halfwayFile()];
    const [a, b] = await Promise.all([
      run.open("Print a", nodeRuns(printLines, "a", "20", "20", halfways[0])),
      run.open("Print b", nodeRuns(printLines, "b", "20", "30", halfways[1])),
    ]);
    run.check("the ids differ", a.id !== b.id, a.id);
    const [pollsA, pollsB] = await Promise.all([pollUntilExit(a, 20, halfways[0]), pollUntilExit(b, 20, halfways[1])]);
    run.growing(pollsA);
    run.growing(pollsB);
    run.equal("the output of a", pollsA.at(-1).output, linesOf("a", 20));
    run.equal("the output of b", pollsB.at(-1).output, linesOf("b", 20));
    await run.release(a);
    run.equal("the output of b after the release of a", (await b.currentOutput()).output, linesOf("b", 20));
    await run.release(b);
  },

  "non-ascii": async (run) => {
    const text = "é ✓ 😀";
    const halfway = halfwayFile();
    const whole = await run.open("Print bytes", nodeRuns(printBytes, text, "60", halfway));
    const polls = await pollUntilExit(whole, 20, halfway);
    run.growing(polls);
    run.equal("the last output", polls.at(-1).output, text);
    await run.release(whole);

    // Five bytes would begin inside of the ✓, so that only the four of the 😀 can stay.
    const dense = "é✓😀";
    const limited = await run.open("Print bytes, keep five", {
      ...nodeRuns(printBytes, dense, "60"),
      outputByteLimit: 5,
    });
    const limitedPolls = await pollUntilExit(limited, 20);
    const wrong = limitedPolls.find(
      ({ output }) => !isWhole(output) || Buffer.byteLength(output) > 5 || !dense.includes(output),
    );
    run.check("each poll is at most five bytes of whole characters, as they were written", !wrong, wrong);
    run.equal("the last output of at most five bytes", limitedPolls.at(-1).output, "😀");
    run.equal("its truncated", limitedPolls.at(-1).truncated, true);
    await run.release(limited);
  },

  errors: async (run) => {
    const program = nodeRuns(describeItself);
    await run.fails("a relative cwd", INVALID_PARAMS, run.create({ ...program, cwd: "." }));
    await run.fails("a missing program", NOT_FOUND, run.create({ command: "acpterm-no-such-program" }));
    const { output, waitForExit, kill, release } = methods.client.terminal;
    for (const method of [output, waitForExit, kill, release]) {
      const params = { sessionId: run.sessionId, terminalId: "term_never_given_out" };
      await run.fails(`${method} of an unknown terminal`, NOT_FOUND, run.client.request(method, params));
    }
    const terminal = await run.open("Go on", program);
    run.equal("a command after the errors", status(await terminal.waitForExit()), { exitCode: 0, signal: null });
    await run.release(terminal);
  },
};

// ---- What scenarios do with terminals.

/** An exit status without its _meta. Both keys must have come on the wire, so undefined stays. */
function status(value) {
  return value == null ? value : { exitCode: value.exitCode, signal: value.signal };
}

/** Whether a text has no half character: no lone surrogate, and nothing that was replaced. */
function isWhole(text) {
  return text.isWellFormed() && !text.includes("\uFFFD");
}

/** Where two long texts begin to differ, in a few words; undefined if they are equal. */
function difference(got, want) {
  if (got === want) return undefined;
  let at = 0;
  while (got[at] === want[at]) at++;
  const near = (text) => text.slice(Math.max(0, at - 20), at + 20);
  return { at, lengths: [got.length, want.length], got: near(got), want: near(want) };
}

/** The name of a file that a command waits for at the half of its output. */
function halfwayFile() {
  return path.join(tmpdir(), `acpterm-${randomUUID()}`);
}

/**
 * Every output that was seen, with one wait pending all the time; the last is the one after the exit. The file halfway
 * is made once some output was seen.
 */
async function pollUntilExit(terminal, pause, halfway) {
  const polls = [];
  let running = true;
  const waiting = terminal.waitForExit().finally(() => (running = false));
  waiting.catch(() => {}); // it is awaited below; the loop may be in between
  while (running) {
    const poll = await terminal.currentOutput();
    polls.push(poll);
    if (halfway && poll.output !== "") writeFileSync(halfway, "");
    await sleep(pause);
  }
  await waiting;
  if (halfway) rmSync(halfway, { force: true });
  polls.push(await terminal.currentOutput());
  return polls;
}

/** Waits until a command has printed exactly this. */
async function outputIs(terminal, text) {
  while ((await terminal.currentOutput()).output !== text) {
    await sleep(20);
  }
}

// ---- One run of one scenario.

class Run {
  failed = false;
  #name;
  #session;
  #terminals = new Map(); // the terminals that are not released, and their tool calls
  #reports = Promise.resolve(); // reports are sent in order and awaited at the end: checks need no await

  constructor(name, session, client) {
    this.#name = name;
    this.#session = session;
    this.client = client;
  }

  get sessionId() {
    return this.#session.id;
  }

  get cwd() {
    return this.#session.cwd;
  }

  /** Runs a scenario to its end, whatever happens in it. */
  async play(scenario) {
    try {
      await within(SCENARIO_TIMEOUT, this.#name, this.#allowed().then(() => scenario(this)));
    } catch (error) {
      this.check(describe(error), false);
    }
    for (const terminal of this.#terminals.keys()) {
      await within(SCENARIO_TIMEOUT, "release", this.release(terminal)).catch((error) =>
        this.check(describe(error), false),
      );
    }
    await this.#reports;
  }

  /** Asks the user, as agents do before they run commands. */
  async #allowed() {
    const { outcome } = await this.client.request(methods.client.session.requestPermission, {
      sessionId: this.sessionId,
      toolCall: { toolCallId: randomUUID(), title: `Run the scenario ${this.#name}`, kind: "execute" },
      options: [
        { optionId: "yes", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    });
    this.equal("the permission", outcome, { outcome: "selected", optionId: "yes" });
    if (this.failed) {
      throw new Error("not allowed");
    }
  }

  create(params) {
    return this.client.createTerminal({ sessionId: this.sessionId, ...params });
  }

  /** Creates a terminal and shows it to the user. */
  async open(title, params) {
    const terminal = await this.create(params);
    const toolCallId = randomUUID();
    this.#terminals.set(terminal, toolCallId);
    await this.#update({
      sessionUpdate: "tool_call",
      toolCallId,
      title,
      kind: "execute",
      status: "in_progress",
      content: [{ type: "terminal", terminalId: terminal.id }],
    });
    return terminal;
  }

  async release(terminal) {
    const toolCallId = this.#terminals.get(terminal);
    this.#terminals.delete(terminal);
    await terminal.release();
    await this.#update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  }

  /** Reports a step. */
  check(step, holds, seen) {
    const text = `${this.#name}: ${step}`;
    if (holds) {
      this.#report(`ok: ${text}`);
      return;
    }
    this.failed = true;
    const line = `FAIL: ${text}` + (seen === undefined ? "" : `: ${JSON.stringify(seen)}`);
    console.error(line);
    this.#report(line);
  }

  equal(step, got, want) {
    this.check(step, isDeepStrictEqual(got, want), { got: got === undefined ? "undefined" : got, want });
  }

  /** Checks that polls saw the output grow at its end, more than once, and never half a character. */
  growing(polls) {
    const outputs = polls.map((poll) => poll.output);
    const jump = outputs.findIndex((output, i) => i > 0 && !output.startsWith(outputs[i - 1]));
    this.check("each output begins with the one before", jump < 0, outputs.slice(jump - 1, jump + 1));
    const torn = outputs.find((output) => !isWhole(output));
    this.check("no output has half a character", torn === undefined, torn);
    const lengths = new Set(outputs.map((output) => output.length));
    this.check("the output was seen growing", lengths.size > 1, [...lengths]);
  }

  /**
   * Checks that a request is answered with an error of this code, and of this kind if it is named; a kind is what
   * only the client says, while the SDK makes errors with the same codes.
   */
  async fails(step, code, request, kind) {
    try {
      this.check(step, false, await request);
    } catch (error) {
      const holds =
        error instanceof RequestError && error.code === code && (kind === undefined || error.data?.kind === kind);
      this.check(`${step}: error ${code}`, holds, describe(error));
    }
  }

  #report(line) {
    const content = { type: "text", text: line + "\n" };
    this.#reports = this.#reports.then(() => this.#update({ sessionUpdate: "agent_message_chunk", content }));
  }

  #update(update) {
    return this.client.notify(methods.client.session.update, { sessionId: this.sessionId, update });
  }
}

function describe(error) {
  return error instanceof RequestError ? `error ${error.code}: ${error.message}` : String(error);
}

/** Rejects when a promise is not settled in time. */
async function within(milliseconds, what, promise) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

// ---- The agent.

function serve() {
  const sessions = new Map();
  let hasTerminals = false;

  const app = agent({ name: "acpterm-tsagent" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      hasTerminals = params.clientCapabilities?.terminal === true;
      return { protocolVersion: PROTOCOL_VERSION, agentInfo: { name: "acpterm-tsagent", version: "0.0.0" } };
    })
    .onRequest(methods.agent.session.new, ({ params }) => {
      const session = { id: randomUUID(), cwd: params.cwd };
      sessions.set(session.id, session);
      return { sessionId: session.id };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const session = sessions.get(params.sessionId);
      if (!session) {
        throw RequestError.resourceNotFound(params.sessionId);
      }
      const text = params.prompt.map((block) => (block.type === "text" ? block.text : "")).join("").trim();
      const names = text === "all" ? Object.keys(scenarios) : [text];
      let failed = false;
      for (const name of names) {
        const run = new Run(name, session, client);
        await run.play(async () => {
          if (!hasTerminals) throw new Error("the client did not advertise terminals");
          if (!Object.hasOwn(scenarios, name)) throw new Error("there is no such scenario");
          await scenarios[name](run);
        });
        failed ||= run.failed;
      }
      return { stopReason: failed ? "refusal" : "end_turn" };
    });

  app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}

if (process.argv.includes("--list")) {
  console.log(Object.keys(scenarios).join("\n"));
} else {
  serve();
}
