// Links in output: the addresses that begin with http:// or https://, as text. Escape sequences for links have no effect,
// since they can show one address and lead to another.

const address = /https?:\/\/[^\s"'<>`{}|\\^\x00-\x20\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g

// linkOpener has a terminal open such an address in a new window, when it was clicked and ask(address) is true.
export function linkOpener(xterm, ask) {
  xterm.registerLinkProvider({
    provideLinks(y, callback) {
      const { text, first } = lineAt(xterm, y - 1)
      const links = [...text.matchAll(address)].map(match => {
        const found = match[0].replace(/[.,:;!?)\]]+$/, '') // the sentence's, most likely
        return {
          text: found,
          range: { start: place(xterm, first, match.index), end: place(xterm, first, match.index + found.length - 1) },
          activate: (_, text) => { if (ask(text)) open(text, '_blank', 'noopener,noreferrer') },
        }
      })
      callback(links.length ? links : undefined)
    },
  })
}

// lineAt returns the text of a whole line, of which the row y is a part, with a character for each column; and its first
// row.
function lineAt(xterm, y) {
  const buffer = xterm.buffer.active
  let first = y
  while (first > 0 && y - first < 50 && buffer.getLine(first)?.isWrapped) first--
  let text = ''
  for (let row = first; row === first || row - first < 100 && buffer.getLine(row)?.isWrapped; row++) {
    const line = buffer.getLine(row)
    if (!line) break
    for (let x = 0; x < xterm.cols; x++) text += line.getCell(x)?.getChars()[0] || ' '
  }
  return { text, first }
}

// place is where the character with an index in the text of a line stands, counted from 1.
function place(xterm, first, index) {
  return { x: index % xterm.cols + 1, y: first + Math.floor(index / xterm.cols) + 1 }
}
