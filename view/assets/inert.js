// Escape sequences that must have no effect. xterm.js sends its answers, and its mouse and focus reports, to onData,
// which does not have a listener; disableStdin turns them off. Its clipboard and window operations are off by default.
// This file disables the others.

// oscs are sequences "ESC ] number": titles, the palette and its queries, links, the clipboard.
const oscs = [0, 1, 2, 4, 5, 8, 10, 11, 12, 13, 14, 17, 19, 52, 104, 105, 110, 111, 112, 113, 114, 117, 119]

// modes are sequences "CSI ? number h" and "CSI ? number l", by the kind of terminal that ignores them: mouse and focus
// tracking, which would prevent selecting; without a PTY also the cursor, the alternate screen and bracketed paste,
// which would prevent reading.
const tracking = [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016]
const modes = { pipe: [...tracking, 25, 47, 1047, 1048, 1049, 2004], pty: tracking }

// queries are sequences that request an answer, and window operations.
const queries = [
  { final: 'c' }, { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { final: 't' }, { prefix: '>', final: 't' },
  { prefix: '>', final: 'q' },
]

// makeInert makes a terminal ignore these sequences. kind returns "pipe" or "pty".
export function makeInert(xterm, kind) {
  const swallow = () => true
  for (const osc of oscs) xterm.parser.registerOscHandler(osc, swallow)
  for (const query of queries) xterm.parser.registerCsiHandler(query, swallow)
  xterm.parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow)
  for (const final of ['h', 'l']) {
    xterm.parser.registerCsiHandler({ prefix: '?', final }, parameters => {
      const inert = modes[kind()]
      const rest = parameters.filter(mode => !inert.includes(mode))
      if (rest.length === parameters.length) return false
      if (kind() === 'pty') for (const mode of rest) setMode(xterm, mode, final)
      return true
    })
  }
}

// setMode sets one mode that came in a sequence with inert ones. It uses internals of the vendored xterm.js 6.0.0.
function setMode(xterm, mode, final) {
  const handler = xterm._core._inputHandler
  const parameters = { length: 1, params: [mode] }
  if (final === 'h') handler.setModePrivate(parameters)
  else handler.resetModePrivate(parameters)
}
