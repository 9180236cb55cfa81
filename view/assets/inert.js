// Escape sequences in output that must have no effect. xterm.js sends its answers to onData, which has no listener, and
// disableStdin turns them off. Its clipboard and window operations are off by default. This file disables the others.

// oscs are sequences "ESC ] number": titles, the palette and its queries, links, the clipboard.
const oscs = [0, 1, 2, 4, 5, 8, 10, 11, 12, 13, 14, 17, 19, 52, 104, 105, 110, 111, 112, 113, 114, 117, 119]

// modes are sequences "CSI ? number h" that would prevent reading or selecting: mouse tracking, the alternate screen, the
// cursor.
const modes = [9, 25, 47, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1048, 1049, 2004]

// queries are sequences that request an answer, and window operations.
const queries = [
  { final: 'c' }, { prefix: '>', final: 'c' }, { prefix: '=', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { final: 't' }, { prefix: '>', final: 't' },
  { prefix: '>', final: 'q' },
]

// makeInert makes a terminal ignore these sequences.
export function makeInert(xterm) {
  const swallow = () => true
  for (const osc of oscs) xterm.parser.registerOscHandler(osc, swallow)
  for (const query of queries) xterm.parser.registerCsiHandler(query, swallow)
  xterm.parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow)
  for (const final of ['h', 'l']) {
    xterm.parser.registerCsiHandler({ prefix: '?', final }, parameters => parameters.some(mode => modes.includes(mode)))
  }
}
