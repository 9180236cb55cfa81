// What the types of TypeScript lack.

// The element, and its events.
interface HTMLElementTagNameMap {
  'acp-terminal': HTMLElement & { first: string, name(row: object): void }
}
interface HTMLElementEventMap {
  status: CustomEvent
  line: CustomEvent<number>
  time: CustomEvent<number>
  connection: CustomEvent<string>
}

// Not every browser has it.
interface Navigator {
  keyboard?: { lock?(keys: string[]): Promise<void> }
}

// The inner parts of xterm.js that styles.js, inert.js and screen.js use.
declare module '@xterm/xterm' {
  interface Terminal { _core: any }
}
