// The numbers of lines, beside the screen. A line that wraps has one number. Only an anchor's number is kept: the others
// are counted from it.
import { bisect } from './bisect.js'
import { cell } from './fit.js'
import { Rows } from './rows.js'

export class Numbers {
  also = null // other Numbers of the same screen, which follow these
  rows // of the screen
  #xterm
  #pane
  #anchor = null // { marker, number }: the number of a marked row's line; null if no number is known
  #jumps = [] // { marker, lines }: lines before a row that are not on the screen
  #drawn = ''
  held = false // while a part of the output is written that is not complete

  // constructor shows the numbers of a terminal in a pane. onPick receives the number of a clicked line.
  constructor(xterm, pane, onPick, rows = new Rows(xterm)) {
    this.rows = rows
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

  // start says that the lines begin in the cursor's row, with this number.
  start(number) {
    this.forget()
    this.set(number)
  }

  // set says that the cursor's line has this number.
  set(number) {
    this.#anchor = { marker: this.rows.at(), number }
    this.draw()
  }

  forget() {
    this.#anchor?.marker.dispose()
    for (const jump of this.#jumps) jump.marker.dispose()
    this.#anchor = null
    this.#jumps = []
    this.draw()
  }

  // advance moves the anchor to the first row of the cursor's line in the viewport: the others may be erased. It must be
  // called before the screen has scrolled the old one away.
  advance() {
    this.also?.advance()
    if (!this.known) return this.#anchor && this.forget()
    const buffer = this.#xterm.buffer.active
    let row = cursorRow(this.#xterm)
    while (row > buffer.baseY && buffer.getLine(row).isWrapped) row--
    if (row === this.#anchor.marker.line) return
    const number = this.#count(row)
    this.#anchor.marker.dispose()
    this.#anchor = { marker: this.rows.at(row), number }
    while (this.#jumps[0]?.marker.line < 0) this.#jumps.shift()
  }

  // skip says that some lines before the cursor's row are not on the screen.
  skip(lines) {
    this.also?.skip(lines)
    this.advance()
    this.#jumps.push({ marker: this.rows.at(), lines })
    if (this.known) this.#anchor.number += lines
  }

  // of returns the number of a row's line, or 0 if it is not known.
  of(row) {
    if (!this.known || row < 0 || row >= this.#xterm.buffer.active.length) return 0
    return Math.max(0, this.#count(row))
  }

  // last returns the number of the last line, or 0.
  get last() { return this.of(lastRow(this.#xterm.buffer.active)) }

  // rowOf returns the first row of a line, or -1 if it is not on the screen. For one that is left out, that is the row of
  // the line before.
  rowOf(number) {
    const buffer = this.#xterm.buffer.active
    if (!this.known) return -1
    let after = number // the number of the line below
    for (let y = buffer.length - 1, at = this.of(y); y >= 0; y--) {
      if (buffer.getLine(y).isWrapped) continue
      if (at <= number) return at === number || after > number ? y : -1
      after = at
      at -= 1 + this.#skipped(y - 1, y)
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
    if (!(this.#jumps.at(-1)?.marker.line > after)) return 0 // as for each line that is written
    let first = bisect(this.#jumps, ({ marker }) => marker.line > after)
    let lines = 0
    for (; this.#jumps[first]?.marker.line <= upTo; first++) lines += this.#jumps[first].lines
    return lines
  }

  // inView returns the numbers of the rows in view, with false for those that have none.
  inView() {
    const { rows, buffer: { active: buffer } } = this.#xterm
    const last = lastRow(buffer)
    const numbers = []
    if (!this.known) return numbers
    let number = this.of(buffer.viewportY)
    for (let y = buffer.viewportY; y < buffer.viewportY + rows && y <= last; y++) {
      const first = !buffer.getLine(y)?.isWrapped
      if (y > buffer.viewportY && first) number += 1 + this.#skipped(y - 1, y)
      numbers.push(first && number)
    }
    return numbers
  }

  // draw shows the numbers of the rows in view.
  draw() {
    if (this.held) return
    const text = this.inView().map(number => `${number > 0 ? number : ''}\n`).join('')
    if (text === this.#drawn) return
    this.#drawn = this.#pane.textContent = text
  }

  // fit gives the rows of the pane the height of the screen's rows.
  fit() {
    this.also?.fit()
    this.#pane.style.lineHeight = `${cell(this.#xterm).height}px`
  }
}

const cursorRow = ({ buffer: { active } }) => active.baseY + active.cursorY

// lastRow returns the last row that has a number. The row of a cursor after the last line end has none.
function lastRow(buffer) {
  const cursor = buffer.baseY + buffer.cursorY
  return buffer.cursorX || buffer.getLine(cursor)?.translateToString(true) ? cursor : cursor - 1
}
