// What output may not do. xterm.js gives what it answers to onData, which nobody listens to, and disableStdin keeps it
// from answering at all; it has no clipboard or window operations unless they are turned on. Here the rest is taken away.

// oscs are sequences "ESC ] number": titles, colours of the palette and queries for them, links, the clipboard.
const oscs = [0, 1, 2, 4, 5, 8, 10, 11, 12, 13, 14, 17, 19, 52, 104, 105, 110, 111, 112, 113, 114, 117, 119]

// modes are "CSI ? number h" that would keep somebody from reading and selecting: the mouse's, the other screen, the
// cursor, which there is none of.
const modes = [9, 25, 47, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1048, 1049, 2004]

// queries are sequences that ask for an answer, and those for windows.
const queries = [
  { final: 'c' }, { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { final: 't' }, { prefix: '>', final: 't' },
  { prefix: '>', final: 'q' },
]

// makeInert has a terminal show output and do nothing else that it says.
export function makeInert(xterm) {
  const swallow = () => true
  for (const osc of oscs) xterm.parser.registerOscHandler(osc, swallow)
  for (const query of queries) xterm.parser.registerCsiHandler(query, swallow)
  xterm.parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow)
  for (const final of ['h', 'l']) {
    xterm.parser.registerCsiHandler({ prefix: '?', final }, parameters => parameters.some(mode => modes.includes(mode)))
  }
}
