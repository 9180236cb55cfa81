// Colours of lines that begin as errors and warnings do, if the command has not coloured them.
import { InView } from './inview.js'
import { themes } from './themes.js'

const sign = /^\s*(?:(error|fatal)|warning)(?:\[[\w-]+\])?:\s/i

// tint colours the lines in view of a terminal. dark returns whether the page is dark.
export function tint(xterm, dark) {
  new InView(xterm, (first, last) => {
    const buffer = xterm.buffer.active
    const rows = []
    let begin = first // of a line, which may begin above
    while (first - begin < 50 && buffer.getLine(begin)?.isWrapped) begin--
    for (let row = begin, color = ''; row <= last; row++) {
      const line = buffer.getLine(row)
      if (!line) break
      if (!line.isWrapped) color = colorOf(line, dark())
      if (color && row >= first && isPlain(buffer, line)) rows.push({ row, color })
    }
    return rows
  })
}

function colorOf(line, dark) {
  const found = sign.exec(line.translateToString(true, 0, 40))
  return found ? themes(dark)[found[1] ? 'red' : 'yellow'] : ''
}

// isPlain reports whether a row has no colour.
function isPlain(buffer, line) {
  const cell = buffer.getNullCell()
  for (let x = 0; x < line.length; x++) {
    if (!line.getCell(x, cell).isFgDefault() || !cell.isBgDefault() || cell.isInverse()) return false
  }
  return true
}
