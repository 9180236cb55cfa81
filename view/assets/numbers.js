// The numbers of lines, beside the screen. A line that wraps has one number. Only an anchor's number is kept: the others
// are counted from it.
import { markerAt } from './lines.js'

export class Numbers {
  also = null // other Numbers of the same screen, which follow these
  #xterm
  #pane
  #anchor = null // { marker, number }: the number of a marked row's line; null if no number is known
  #jumps = [] // { marker, lines }: lines before a row that are not on the screen
  #drawn = ''

  // constructor shows the numbers of a terminal in a pane. onPick receives the number of a clicked line.
  constructor(xterm, pane, onPick) {
    this.#xterm = xterm
    this.#pane = pane
    xterm.onRender(() => this.draw())
    pane.onclick = event => {
      const { top, height } = xterm.element.querySelector('.xterm-screen').getBoundingClientRect()
      const y = Math.floor((event.clientY - top) / (height / xterm.rows))
      const number = this.of(xterm.buffer.active.viewportY + y)
      if (number) onPick(number)
    }
  }

  get known() { return !!this.#anchor && this.#anchor.marker.line >= 0 }

  // start says that a row's line has this number.
  start(number, row = cursorRow(this.#xterm)) {
    this.forget()
    this.#anchor = { marker: markerAt(this.#xterm, row), number }
    if (!this.#anchor.marker) this.#anchor = null
    this.draw()
  }

  forget() {
    this.#anchor?.marker.dispose()
    for (const jump of this.#jumps) jump.marker.dispose()
    this.#anchor = null
    this.#jumps = []
    this.draw()
  }

  // advance moves the anchor to the cursor's row. It must be called before the screen has scrolled the old one away.
  advance() {
    this.also?.advance()
    if (!this.known) return this.#anchor && this.forget()
    const row = cursorRow(this.#xterm)
    if (row === this.#anchor.marker.line) return
    const number = this.#count(row)
    this.#anchor.marker.dispose()
    this.#anchor = { marker: markerAt(this.#xterm, row), number }
    this.#jumps = this.#jumps.filter(({ marker }) => marker.line >= 0)
  }

  // skip says that some lines before the cursor's row are not on the screen.
  skip(lines) {
    this.also?.skip(lines)
    this.advance()
    if (!this.known) return
    this.#jumps.push({ marker: markerAt(this.#xterm, cursorRow(this.#xterm)), lines })
    this.#anchor.number += lines
  }

  // of returns the number of a row's line, or 0 if it is not known.
  of(row) {
    if (!this.known || row < 0 || row >= this.#xterm.buffer.active.length) return 0
    return Math.max(0, this.#count(row))
  }

  // last returns the number of the last line, or 0.
  get last() { return this.of(lastRow(this.#xterm.buffer.active)) }

  // rowOf returns the first row of a line, or -1 if it is not on the screen.
  rowOf(number) {
    const buffer = this.#xterm.buffer.active
    if (!this.known) return -1
    for (let y = buffer.length - 1, at = this.of(y); y >= 0 && at >= number; y--) {
      const first = !buffer.getLine(y).isWrapped
      if (at === number && first) return y
      if (first) at -= 1 + this.#skipped(y - 1, y)
    }
    return -1
  }

  #count(row) {
    const buffer = this.#xterm.buffer.active
    const at = this.#anchor.marker.line
    const [low, high] = row < at ? [row, at] : [at, row]
    let lines = this.#skipped(low, high)
    for (let y = low + 1; y <= high; y++) if (!buffer.getLine(y)?.isWrapped) lines++
    return this.#anchor.number + (row < at ? -lines : lines)
  }

  // skipped returns the number of lines that are not on the screen, after a row and up to another.
  #skipped(after, upTo) {
    let lines = 0
    for (const jump of this.#jumps) if (jump.marker.line > after && jump.marker.line <= upTo) lines += jump.lines
    return lines
  }

  // inView returns the numbers of the rows in view, with 0 for those that have none.
  inView() {
    const { rows, buffer: { active: buffer } } = this.#xterm
    const last = lastRow(buffer)
    const numbers = []
    if (!this.known) return numbers
    let number = this.of(buffer.viewportY)
    for (let y = buffer.viewportY; y < buffer.viewportY + rows && y <= last; y++) {
      const first = !buffer.getLine(y)?.isWrapped
      if (y > buffer.viewportY && first) number += 1 + this.#skipped(y - 1, y)
      numbers.push(first ? number : 0)
    }
    return numbers
  }

  // draw shows the numbers of the rows in view.
  draw() {
    const text = this.inView().map(number => `${number > 0 ? number : ''}\n`).join('')
    if (text === this.#drawn) return
    this.#drawn = this.#pane.textContent = text
  }

  // fit gives the rows of the pane the height of the screen's rows.
  fit() {
    this.also?.fit()
    const height = this.#xterm.element?.querySelector('.xterm-screen').getBoundingClientRect().height
    if (height) this.#pane.style.lineHeight = `${height / this.#xterm.rows}px`
  }
}

const cursorRow = ({ buffer: { active } }) => active.baseY + active.cursorY

// lastRow returns the last row that has a number. The row of a cursor after the last line end has none.
function lastRow(buffer) {
  const cursor = buffer.baseY + buffer.cursorY
  return buffer.cursorX || buffer.getLine(cursor)?.translateToString(true) ? cursor : cursor - 1
}
