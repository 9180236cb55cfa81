// What a client of ACP v2 holds of an agent's terminals, by the text of the protocol: the SDK keeps no terminals
// itself. An absent field leaves what is held, null clears it, a value replaces it, and _meta is patched by key.

export class Terminals {
  #held = new Map();

  /** Applies the update of a session/update; one that is not about a terminal changes nothing. */
  apply(update) {
    switch (update.sessionUpdate) {
      case "terminal_update":
        this.#patch(this.#terminal(update.terminalId), update);
        break;
      case "terminal_output_chunk": {
        const terminal = this.#terminal(update.terminalId);
        terminal.output = Buffer.concat([terminal.output, Buffer.from(update.data, "base64")]);
      }
    }
  }

  #terminal(id) {
    if (!this.#held.has(id)) {
      this.#held.set(id, {
        command: null, cwd: null, output: Buffer.alloc(0), exitStatus: null, size: null, cancellable: false, meta: {},
      });
    }
    return this.#held.get(id);
  }

  #patch(terminal, { command, cwd, output, exitStatus, size, capabilities, _meta }) {
    if (command !== undefined) terminal.command = command;
    if (cwd !== undefined) terminal.cwd = cwd;
    if (output !== undefined) terminal.output = Buffer.from(output?.data ?? "", "base64");
    if (exitStatus !== undefined) {
      terminal.exitStatus = exitStatus && { exitCode: exitStatus.exitCode ?? null, signal: exitStatus.signal ?? null };
    }
    if (size !== undefined) terminal.size = size && { cols: size.cols, rows: size.rows };
    if (capabilities !== undefined) terminal.cancellable = (capabilities?.cancel ?? null) !== null;
    if (_meta === null) terminal.meta = {};
    for (const [key, value] of Object.entries(_meta ?? {})) {
      if (value === null) delete terminal.meta[key];
      else terminal.meta[key] = value;
    }
  }

  /** All that is held, by the terminals' ids, as JSON. */
  toJSON() {
    const all = {};
    for (const [id, terminal] of this.#held) all[id] = { ...terminal, output: terminal.output.toString("base64") };
    return all;
  }
}
