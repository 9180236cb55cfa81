// Links in output: addresses in the text that begin with http:// or https://. Escape sequences for links have no
// effect, because they can show one address and lead to another.

// address ends at a character that hides or reorders others: the page would not show the address that opens. Unicode
// names them: controls, formats, private and unassigned ones (C), those that a font need not show
// (Default_Ignorable_Code_Point), and all spaces; U+2800 is an empty Braille pattern.
const address = /https?:\/\/[^\s"'<>`{}|\\^\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu

// linksAt returns the links in the line that contains row y, for xterm.js.
export function linksAt(xterm, y) {
  const { text, places } = lineAt(xterm, y)
  const links = linksIn(text).map(({ index, address }) => ({
    text: address, range: { start: places[index], end: places[index + address.length - 1] },
    activate: () => follow(address),
  }))
  return links.length ? links : undefined
}

// linksIn returns the index of each address in a text, and the address.
export function linksIn(text) {
  return [...text.matchAll(address)].map(({ index, 0: found }) => {
    while ('.,:;!?)]'.includes(found.at(-1))) found = found.slice(0, -1) // probably punctuation of the sentence
    return { index, address: found }
  })
}

// follow opens an address in a new window, if the user agrees.
export function follow(address) {
  if (confirm(`Open this address, which a command has printed?\n\n${address}`)) open(address, '_blank', 'noopener,noreferrer')
}

// lineAt returns the text of the whole line that contains row y, and the place of each of its code units, counted from
// 1. A cell may have several: xterm.js puts characters without a width into the cell before them.
function lineAt(xterm, y) {
  const buffer = xterm.buffer.active
  let first = y
  while (first > 0 && y - first < 50 && buffer.getLine(first)?.isWrapped) first--
  let text = ''
  const places = []
  for (let row = first; row === first || row - first < 100 && buffer.getLine(row)?.isWrapped; row++) {
    const line = buffer.getLine(row)
    if (!line) break
    for (let x = 0; x < xterm.cols; x++) {
      const cell = line.getCell(x)
      if (cell.getWidth() === 0) continue // the second half of a wide character
      text += cell.getChars() || ' '
      while (places.length < text.length) places.push({ x: x + 1, y: row + 1 })
    }
  }
  return { text, places }
}
