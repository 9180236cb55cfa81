// All retained output; the screen has room for only a part. It is read when the user scrolls or searches beyond that
// part, or copies everything. The screen then shows a window of it: some of its sections, one after the other.

import { lastRow, textOfAll } from './lines.js'

const sectionRows = 2500 // maximum number of rows of a section's text on the screen
const windowSections = 4

export class History {
  #sections // { text: as written by the command, plain: as shown, lines: number of line ends }
  #counted = { term: '', counts: [] }

  constructor(sections) { this.#sections = sections }

  // read reads the output from its address. It uses the terminal, which is not shown, to produce plain text.
  static async read(url, xterm, signal) {
    const response = await fetch(url, { signal })
    if (!response.ok) throw new TypeError(response.statusText)
    const sections = []
    for (const text of cut(await response.text(), xterm.cols)) {
      xterm.reset()
      await write(xterm, text)
      signal.throwIfAborted()
      const plain = textOfAll(xterm)
      sections.push({ text, plain, lines: plain.split('\n').length - 1 })
    }
    return new History(sections)
  }

  // plain is the whole output as shown.
  get plain() { return this.#sections.map(section => section.plain).join('') }

  // show writes the window that ends with a section, or the first or the last window.
  async show(xterm, last) {
    const least = windowSections - 1
    const w = new Window(this, Math.min(Math.max(last, least), this.#sections.length - 1))
    xterm.reset()
    for (let i = w.first; i <= w.last; i++) {
      w.marks.set(i, xterm.registerMarker(0))
      await write(xterm, this.#sections[i].text)
    }
    return w
  }

  isLast(section) { return section === this.#sections.length - 1 }

  // placeOf returns the place of a row on a screen with the end of the output.
  placeOf(xterm, row) {
    let after = 0
    for (let y = lastRow(xterm); y > row; y--) if (!isWrapped(xterm, y)) after++
    let section = this.#sections.length - 1
    let line = this.#sections[section].lines - after
    while (line < 0 && section > 0) line += this.#sections[--section].lines
    return { section, line: Math.max(0, line), rows: 0 }
  }

  // count returns how often a text occurs.
  count(term) { return this.#counts(term).reduce((sum, count) => sum + count, 0) }

  // next returns the next section outside a window that contains a text, or undefined. It wraps around at the end.
  next(term, { first, last }, backwards) {
    const counts = this.#counts(term)
    const before = [...counts.keys()].slice(0, first), after = [...counts.keys()].slice(last + 1)
    const order = backwards ? [...before.reverse(), ...after.reverse()] : [...after, ...before]
    return order.find(i => counts[i])
  }

  #counts(term) {
    if (this.#counted.term !== term) {
      const wanted = term.toLowerCase()
      this.#counted = { term, counts: this.#sections.map(({ plain }) => plain.toLowerCase().split(wanted).length - 1) }
    }
    return this.#counted.counts
  }
}

// Window is the part of a History on the screen: the sections from first to last. A place in it consists of a section,
// a number of its lines, and a number of rows after them.
class Window {
  marks = new Map() // at the sections' first rows

  constructor(history, last) {
    this.history = history
    this.last = last
    this.first = Math.max(0, last - windowSections + 1)
  }

  placeOf(row) {
    const [section, mark] = [...this.marks].findLast(([, mark]) => mark.line <= row) ?? [this.first, { line: 0 }]
    return { section, line: 0, rows: row - mark.line }
  }

  // rowOf returns a place's row, or undefined if it is not in the window.
  rowOf(xterm, { section, line, rows }) {
    let y = this.marks.get(section)?.line
    for (; line > 0 && y < xterm.buffer.active.length - 1; y++) if (!isWrapped(xterm, y + 1)) line--
    return y + rows || y
  }
}

function isWrapped(xterm, row) { return !!xterm.buffer.active.getLine(row)?.isWrapped }

// cut yields the sections of an output. They consist of whole lines, unless a line is longer than a section.
function* cut(text, columns) {
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

function write(xterm, text) { return new Promise(resolve => xterm.write(text, resolve)) }
