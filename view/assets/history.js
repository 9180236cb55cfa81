// All retained output; the screen has room for only a part. It is read when the user scrolls or searches beyond that
// part, or copies everything. The screen then shows a window of it: some of its sections, one after the other.

import { Groups, asShown } from './groups.js'
import { cut, lastRow, textOfAll, writePieces } from './lines.js'
import { countIn } from './search.js'

const windowSections = 4

export class History {
  start = 0 // offset of the output's beginning
  #sections // { text: as written by the command, plain: as shown, lines: number of line ends }
  #first // number of the first line
  #counted = { pattern: null, counts: [] }

  constructor(sections, first) {
    this.#sections = sections
    this.#first = first
  }

  // read reads the output from its address. It uses the terminal, which is not shown, to produce plain text. first is
  // the number of the first line.
  static async read(url, xterm, signal, first = 1) {
    const response = await fetch(url, { signal })
    if (!response.ok) throw new TypeError(response.statusText)
    const sections = []
    const whole = await response.text()
    for (const text of cut(whole, xterm.cols)) {
      xterm.reset()
      await write(xterm, text)
      signal.throwIfAborted()
      const plain = textOfAll(xterm)
      sections.push({ text, plain, shown: asShown(plain), lines: plain.split('\n').length - 1 })
    }
    const history = new History(sections, first)
    if (!first) history.start = parseInt(whole.slice(1)) || 0 // in the note about what is not kept
    return history
  }

  // plain is the whole output as shown.
  get plain() { return this.#sections.map(section => section.plain).join('') }

  // show writes the window that ends with a section, or the first or the last window. It calls onStart with its first
  // section before.
  async show({ xterm, numbers }, last, onStart) {
    const least = windowSections - 1
    const w = new Window(this, Math.min(Math.max(last, least), this.#sections.length - 1))
    xterm.reset()
    numbers.start(this.numberOf(w.first))
    onStart(w.first)
    const groups = new Groups(new Set(), { has: () => true, add() {} }) // all are unfolded
    for (let i = w.first; i <= w.last; i++) {
      writePieces(xterm, numbers, groups.pieces(this.#sections[i].text))
      if (this.isLast(i)) writePieces(xterm, numbers, [groups.rest()])
      await write(xterm, '')
    }
    return w
  }

  isLast(section) { return section === this.#sections.length - 1 }

  // numberAt returns the number of the line in a row of a screen with the end of the output.
  numberAt(xterm, row) {
    let after = 0
    for (let y = lastRow(xterm); y > row; y--) if (!isWrapped(xterm, y)) after++
    return Math.max(this.#first, this.numberOf(this.#sections.length) - after)
  }

  // numberOf returns the number of a section's first line.
  numberOf(section) {
    return this.#sections.slice(0, section).reduce((sum, { lines }) => sum + lines, this.#first)
  }

  // lines is the number of lines.
  get lines() {
    const unfinished = this.#sections.at(-1).plain.endsWith('\n') ? 0 : 1
    return this.numberOf(this.#sections.length) + unfinished - 1
  }

  // sectionOfLine returns the section of the line with a number, or -1.
  sectionOfLine(number) {
    if (number < this.#first || number > this.lines) return -1
    let line = number - this.#first
    const section = this.#sections.findIndex(({ lines }) => (line -= lines) < 0)
    return section < 0 ? this.#sections.length - 1 : section
  }

  // firstLine returns the number of the first line with a property, or -1.
  firstLine(has) {
    for (const [section, { shown }] of this.#sections.entries()) {
      const line = shown.split('\n').findIndex(has)
      if (line >= 0) return this.numberOf(section) + line
    }
    return -1
  }

  // count returns how often a pattern occurs before a section, or in all.
  count(pattern, before = Infinity) {
    return this.#counts(pattern).slice(0, before).reduce((sum, count) => sum + count, 0)
  }

  // sectionOf returns the section that contains the match with this index.
  sectionOf(pattern, index) {
    return this.#counts(pattern).findIndex(count => (index -= count) < 0)
  }

  #counts(pattern) {
    if (String(this.#counted.pattern) !== String(pattern)) {
      this.#counted = { pattern, counts: this.#sections.map(({ shown }) => countIn(pattern, shown)) }
    }
    return this.#counted.counts
  }
}

// Window is the part of a History on the screen: the sections from first to last.
class Window {
  constructor(history, last) {
    this.history = history
    this.last = last
    this.first = Math.max(0, last - windowSections + 1)
  }
}

function isWrapped(xterm, row) { return !!xterm.buffer.active.getLine(row)?.isWrapped }

function write(xterm, text) { return new Promise(resolve => xterm.write(text, resolve)) }
