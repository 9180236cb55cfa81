// An ACP v2 client made from the official TypeScript SDK, which shows the terminals of an agent.
//
//   node v2client.mjs AGENT [ARG...]
//
// starts the agent, prompts it and applies what it says of terminals until it is idle. Each terminal that can be
// cancelled and has printed "cancel me" is, and so is the tool call "held" once its terminal runs. Then it tries what
// the agent has to refuse, and resumes the session from its start, as a client that holds nothing. It prints as one JSON
// object: the terminals that it holds ("held", see fold.mjs) and held after it resumed ("resumed"), the cancels that it
// sent ("cancelled") and whether they could be sent again after the end ("again"), the same of the tool call, with its
// last status ("toolCall"), the codes of the refusals ("refused"), and the agent's exit code.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";

import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  SessionUpdate,
} from "@agentclientprotocol/sdk/experimental/v2";

import { Terminals } from "./fold.mjs";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit");
const report = { cancelled: {}, again: [], toolCall: {} };

/** Applies what the agent says until it is idle. */
async function applyUntilIdle(session, terminals) {
  for (;;) {
    const { kind, update } = await session.nextUpdate();
    if (kind === "stop") return;
    terminals.apply(update);
    if (update.toolCallId === "held") report.toolCall.status = update.status ?? report.toolCall.status;
    const holds = Object.values(terminals.toJSON()).some(({ command }) => command?.endsWith(" hold"));
    if (holds && session.canCancelToolCall("held")) report.toolCall.answer ??= session.cancelToolCall("held");
    if (!SessionUpdate.isTerminalUpdate(update) && !SessionUpdate.isTerminalOutputChunk(update)) continue;
    const id = update.terminalId;
    const { output } = terminals.toJSON()[id];
    if (id in report.cancelled || !session.canCancelTerminal(id)) continue;
    if (!Buffer.from(output, "base64").includes("cancel me")) continue;
    report.cancelled[id] = session.cancelTerminal(id);
  }
}

/** The code of the error that a request is answered with. */
async function codeOf(request) {
  try {
    return { result: await request };
  } catch (error) {
    return error.code;
  }
}

async function converse(agent) {
  const info = { name: "acpterm-v2client", version: "0.0.0" };
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, info, capabilities: {} });
  await agent.buildSession(process.cwd()).withSession(async (session) => {
    const { sessionId } = session;
    await session.prompt("go");
    const terminals = new Terminals();
    await applyUntilIdle(session, terminals);
    report.held = terminals.toJSON();
    for (const [id, answer] of Object.entries(report.cancelled)) {
      report.cancelled[id] = await answer;
      if (session.canCancelTerminal(id)) report.again.push(id);
    }
    report.toolCall.answer = await report.toolCall.answer;
    report.toolCall.again = session.canCancelToolCall("held");
    const cancel = (ids) => codeOf(agent.request(methods.agent.terminal.cancel, { sessionId, ...ids }));
    report.refused = {
      unknown: await cancel({ terminalId: "none" }),
      session: await cancel({ sessionId: "none", terminalId: "none" }),
      other: await codeOf(agent.request("_acpterm/none", {})),
    };
    for (const id of Object.keys(report.held)) report.refused[id] = await cancel({ terminalId: id });

    const anew = new Terminals();
    const resumed = agent.request(methods.agent.session.resume, {
      sessionId, cwd: process.cwd(), replayFrom: { type: "start" },
    });
    await applyUntilIdle(session, anew);
    await resumed;
    report.resumed = anew.toJSON();
  });
}

const app = client({ name: "acpterm-v2client" });
await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), converse);
child.stdin.destroy();
[report.exitCode] = await exited;
console.log(JSON.stringify(report));
