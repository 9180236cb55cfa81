// The text of the screen's rows, as a command wrote it but for its colours: lines that wrap are whole, and tabs are tabs.

const tabWidth = 8

// textOf returns the text of the rows from one to another, or of a part of them, as a selection has its start and end.
export function textOf(xterm, { start, end }) {
  const buffer = xterm.buffer.active
  const cell = buffer.getNullCell()
  let text = ''
  for (let y = start.y; y <= end.y; y++) {
    const line = buffer.getLine(y)
    if (!line) break
    if (y > start.y && !line.isWrapped) text += '\n'
    text += rowText(line, y === start.y ? start.x : 0, y === end.y ? end.x : line.length, cell)
  }
  return text
}

// rowText returns the text between two columns. A tab leaves the cells empty that it skips; so does a wide character the
// last one of a row, if it has no room there. Behind a line's text all cells are empty.
function rowText(line, from, to, cell) {
  const text = line.translateToString(true, from, to)
  if (!text.includes(' ')) return text
  const isEmpty = x => !line.getCell(x, cell).getCode() && cell.getWidth() === 1
  if (/^[ -~]*$/.test(text)) { // each character has a column of its own
    return text.replace(/ +/g, (blanks, at) => runs(line, from + at, from + at + blanks.length, isEmpty, () => ' '))
  }
  while (isEmpty(to - 1)) to--
  return runs(line, from, to, isEmpty, x => {
    const chars = line.getCell(x, cell).getChars()
    return cell.getWidth() ? chars : ''
  })
}

// runs returns the text of cells: gaps where they are empty.
function runs(line, from, to, isEmpty, textAt) {
  let text = ''
  for (let x = from; x < to;) {
    const begin = x
    while (x < to && isEmpty(x)) x++
    text += x > begin ? gap(begin, x, line.length) : textAt(x++)
  }
  return text
}

// gap returns what moved the cursor from one column to another: tabs, if it stopped where they do.
function gap(from, to, columns) {
  const tabs = Math.floor(to / tabWidth) - Math.floor(from / tabWidth)
  if (to % tabWidth === 0) return '\t'.repeat(tabs)
  return to === columns - 1 ? '\t'.repeat(tabs + 1) : ' '.repeat(to - from)
}

// lastRow returns the last row that has text or the cursor.
export function lastRow(xterm) {
  const buffer = xterm.buffer.active
  let y = buffer.length - 1
  while (y > buffer.baseY + buffer.cursorY && !buffer.getLine(y).translateToString(true)) y--
  return y
}

// textOfAll returns the text of all rows.
export function textOfAll(xterm) {
  return textOf(xterm, { start: { x: 0, y: 0 }, end: { x: xterm.cols, y: lastRow(xterm) } })
}
