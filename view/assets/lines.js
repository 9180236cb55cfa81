// The text of the screen's rows, as written by the command but without colours: wrapped lines are whole, and tabs are
// tabs.

const tabWidth = 8
const partRows = 250 // of what is written at once, so that the page draws between parts

// textOf returns the text of a range of rows. Like a selection, it may start and end within a row.
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

// rowText returns the text between two columns. A tab leaves the skipped cells empty, and so does a wide character that
// does not fit into the last cell of a row. All cells after a line's text are empty.
export function rowText(line, from, to, cell) {
  from = Math.max(from, indentOf(line, cell))
  const text = line.translateToString(true, from, to)
  if (!text.includes(' ')) return text
  const isEmpty = x => !line.getCell(x, cell).getCode() && cell.getWidth() === 1
  if (/^[ -~]*$/.test(text)) { // one column per character
    return text.replace(/ +/g, (blanks, at) => runs(line, from + at, from + at + blanks.length, isEmpty, () => ' '))
  }
  while (isEmpty(to - 1)) to--
  return runs(line, from, to, isEmpty, x => {
    const chars = line.getCell(x, cell).getChars()
    return cell.getWidth() ? chars : ''
  })
}

// indentOf returns how many cells before the text of a row only indent it: those of a row that goes on with a line, and of
// a line in groups.
function indentOf(line, cell) {
  let x = 0
  while (x < line.length && !line.getCell(x, cell).getCode() && cell.getWidth() === 1) x++
  if (x === line.length) return 0
  return line.isWrapped || x === 2 || x === 4 || x === 6 ? x : 0
}

// runs returns the text of cells, with gaps where they are empty.
function runs(line, from, to, isEmpty, textAt) {
  let text = ''
  for (let x = from; x < to;) {
    const begin = x
    while (x < to && isEmpty(x)) x++
    text += x > begin ? gap(begin, x, line.length) : textAt(x++)
  }
  return text
}

// linesOf returns the lines of all rows from one on: the first row of each, its text, and where in that each of its rows
// starts.
export function linesOf(xterm, first = 0) {
  const buffer = xterm.buffer.active
  const cell = buffer.getNullCell()
  const lines = []
  const last = lastRow(xterm)
  for (let y = first; y <= last; y++) {
    const line = buffer.getLine(y)
    const text = rowText(line, 0, line.length, cell)
    if (line.isWrapped && lines.length) {
      const whole = lines.at(-1)
      whole.starts.push(whole.text.length)
      whole.text += text
    } else lines.push({ row: y, text, starts: [0] })
  }
  return lines
}

// placesOf returns the place of each code unit in the text of a row: { x, width }, in cells.
export function placesOf(xterm, y) {
  const buffer = xterm.buffer.active
  const cell = buffer.getNullCell()
  const line = buffer.getLine(y)
  const places = []
  const isEmpty = x => !line.getCell(x, cell).getCode() && cell.getWidth() === 1
  let to = line?.length ?? 0
  while (to > 0 && isEmpty(to - 1)) to--
  for (let x = line ? indentOf(line, cell) : 0; x < to;) {
    const begin = x
    while (x < to && isEmpty(x)) x++
    if (x > begin) {
      const count = gap(begin, x, line.length).length
      for (let i = 0; i < count; i++) places.push({ x: begin, width: x - begin })
      continue
    }
    line.getCell(x, cell)
    const width = cell.getWidth()
    for (let i = 0; width && i < cell.getChars().length; i++) places.push({ x, width })
    x++
  }
  return places
}

// gap returns the text that moved the cursor from one column to another: tabs, if it stopped at a tab stop.
function gap(from, to, columns) {
  const tabs = Math.floor(to / tabWidth) - Math.floor(from / tabWidth)
  if (to % tabWidth === 0) return '\t'.repeat(tabs)
  return to === columns - 1 ? '\t'.repeat(tabs + 1) : ' '.repeat(to - from)
}

// lastRow returns the last row with text or the cursor.
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

// markerAt marks a row.
export function markerAt(xterm, row) {
  const { baseY, cursorY } = xterm.buffer.active
  return xterm.registerMarker(row - baseY - cursorY)
}

// cut yields the sections of an output, with so many rows at most. They consist of whole lines, unless a line is longer
// than a section.
export function* cut(text, columns, sectionRows = 2500) {
  const most = sectionRows * columns / 2 // characters of a line, each up to two columns wide
  let begin = 0
  let rows = 0
  for (let at = 0; at < text.length;) {
    let end = text.indexOf('\n', at) + 1 || text.length
    if (end - at > most) {
      end = at + Math.floor(most)
      if (text.codePointAt(end - 1) > 0xffff) end++ // do not split a character
    }
    const more = 1 + Math.floor(2 * (end - at) / columns)
    if (rows && rows + more > sectionRows) {
      yield text.slice(begin, at)
      begin = at
      rows = 0
    }
    rows += more
    at = end
  }
  yield text.slice(begin)
}

// writePieces writes output in pieces: those of Groups, and no more rows at once than the numbers of lines can follow.
// onHeading, which may be missing, receives a group and the marker of its heading's row.
export function writePieces(xterm, numbers, pieces, onHeading) {
  let whole = ''
  const write = () => {
    if (whole) for (const part of cut(whole, xterm.cols, partRows)) xterm.write(part, () => numbers.advance())
    whole = ''
  }
  for (const { text, skipped, group, at } of pieces) {
    if (at || skipped || group) {
      write()
      xterm.write('', () => {
        at?.()
        if (skipped) numbers.skip(skipped)
        if (group) onHeading?.(group, numbers.rows.at())
      })
    }
    whole += text
  }
  write()
}
