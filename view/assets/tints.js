// Colours of lines that tell of errors and warnings, if the command has not coloured them.
import { isError, isWarning } from './firsterror.js'
import { InView } from './inview.js'
import { rowText } from './lines.js'
import { themes } from './themes.js'

const maxRows = 100 // of a line that are looked at

// tint colours the lines in view of a terminal. dark returns whether the page is dark.
export function tint(xterm, dark) {
  new InView(xterm, (first, last) => {
    const buffer = xterm.buffer.active
    const rows = []
    let begin = first // of a line, which may begin above
    while (begin > 0 && first - begin < 50 && buffer.getLine(begin).isWrapped) begin--
    for (let row = begin, color = ''; row <= last; row++) {
      const line = buffer.getLine(row)
      if (!line) break
      if (!line.isWrapped) color = colorOf(textAt(buffer, row), dark())
      if (color && row >= first && isPlain(buffer, line)) rows.push({ row, width: xterm.cols, foregroundColor: color })
    }
    return rows
  }, true)
}

function colorOf(text, dark) {
  return isWarning(text) ? themes(dark).yellow : isError(text) ? themes(dark).red : ''
}

// textAt returns the text of the line that begins at a row.
function textAt(buffer, row) {
  const cell = buffer.getNullCell()
  const textIn = line => rowText(line, 0, line.length, cell)
  let text = textIn(buffer.getLine(row))
  for (const end = row + maxRows; ++row < end && buffer.getLine(row)?.isWrapped;) text += textIn(buffer.getLine(row))
  return text.trimEnd()
}

// isPlain reports whether a row has no colour.
function isPlain(buffer, line) {
  const cell = buffer.getNullCell()
  for (let x = 0; x < line.length; x++) {
    if (!line.getCell(x, cell).isFgDefault() || !cell.isBgDefault() || cell.isInverse()) return false
  }
  return true
}
