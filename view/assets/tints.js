// Colours of lines that tell of errors and warnings, if the command has not coloured them. The row of such a line has a
// class. With a decoration, xterm.js would make an element of each of its characters.
import { isError, isWarning } from './firsterror.js'
import { onFrame } from './inview.js'
import { rowText } from './lines.js'

const maxRows = 100 // of a line that are looked at

// tint colours the lines in view of a terminal, once the rows rest.
export function tint(xterm) {
  onFrame(xterm, rest => {
    const { rows, element, buffer: { active } } = xterm
    const tones = rest ? tonesOf(active, active.viewportY, active.viewportY + rows - 1) : []
    Array.from(element.querySelector('.xterm-rows').children, (row, at) => {
      const tone = tones[at] ?? ''
      if (row.className !== tone) row.className = tone
    })
  })
}

// tonesOf returns the classes of some rows.
function tonesOf(buffer, first, last) {
  const tones = []
  let begin = first // of a line, which may begin above
  while (begin > 0 && first - begin < 50 && buffer.getLine(begin).isWrapped) begin--
  for (let row = begin, tone = ''; row <= last; row++) {
    const line = buffer.getLine(row)
    if (!line) break
    if (!line.isWrapped) tone = toneOf(textAt(buffer, row))
    if (row >= first) tones.push(tone && isPlain(buffer, line) ? tone : '')
  }
  return tones
}

const toneOf = text => isWarning(text) ? 'tells-warning' : isError(text) ? 'tells-error' : ''

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
