// The groups of a command's output on the screen, which the user folds and unfolds.
import { isError } from './firsterror.js'
import { Groups } from './groups.js'
import { linesOf } from './lines.js'
import { InView } from './inview.js'

const maxKept = 10_000 // ids of groups, over replacements of the output

export class Folds {
  #screen
  #host
  #groups = null // divides the output into groups, once it has marks of them
  #folded = new Set() // groups that are folded, by id
  #decided = new Set() // groups whose first fold is decided, by id
  #openedFirst = false // the group with the first error was opened
  #headings = [] // { marker, id }: the rows of the groups' headings

  constructor(parts, screen, host) {
    this.#screen = screen
    this.#host = host
    host.on(parts.foldAll, 'click', () => this.#foldAll())
  }

  // begun means that output is divided into groups.
  get begun() { return !!this.#groups }

  // any means that the output has groups.
  get any() { return !!this.#groups?.any }

  // folded means that some groups are folded.
  get folded() { return this.#folded.size > 0 }

  // mostlyFolded means that to unfold all groups changes no fewer than to fold all.
  get mostlyFolded() {
    return this.#headings.filter(({ id }) => this.#folded.has(id)).length * 2 >= this.#headings.length
  }

  // close forgets the output, and clear also what is folded.
  close() {
    this.#groups = null
    this.#headings = []
  }

  clear() {
    this.#folded.clear()
    this.#decided.clear()
    this.#openedFirst = false
  }

  // begin divides the output of a screen into groups from here on, and makes their headings links.
  begin(atStart) {
    const { xterm } = this.#screen
    this.#groups = new Groups(this.#folded, this.#decided, atStart)
    xterm.registerLinkProvider({ provideLinks: (y, callback) => callback(this.#headingAt(y - 1)) })
    new InView(xterm, (first, last) => this.#labels(first, last))
  }

  // restart begins with other output.
  restart() {
    if (!this.#groups) return
    if (this.#decided.size > maxKept) this.clear()
    this.#groups = new Groups(this.#folded, this.#decided)
    this.#headings = []
  }

  // forget forgets the headings, because the screen has other output.
  forget() { this.#headings = [] }

  // reset forgets where the output is, because some of it is missing.
  reset() { this.#groups?.reset() }

  // pieces returns the pieces of a text; see Groups.
  pieces(text) { return this.#groups?.pieces(text) ?? [{ text }] }

  // rest returns a piece of what is held back at the end of the output.
  rest() { return this.#groups.rest() }

  // onHeading says that a marked row is the heading of a group.
  onHeading = (id, marker) => { this.#headings.push({ id, marker }) }

  // openFirstError opens the group with the first error, if it is folded, for once.
  async openFirstError() {
    const ids = this.#groups?.firstError
    if (!ids || this.#openedFirst || this.#host.shown()) return
    this.#openedFirst = true
    const { xterm } = this.#screen
    const heading = this.#headings.find(({ id }) => id === ids[0])
    if (!heading || linesOf(xterm).some(({ row, text }) => row < heading.marker.line && isError(text))) return
    for (const id of ids) this.#folded.delete(id)
    await this.#host.reload()
  }

  // labels returns the labels of the headings in some rows: how long the groups were.
  #labels(first, last) {
    let low = 0 // the index of the first heading in the rows; headings are in order
    for (let high = this.#headings.length; low < high;) {
      const middle = low + high >> 1
      if (this.#headings[middle].marker.line < first) low = middle + 1
      else high = middle
    }
    const labels = []
    for (; this.#headings[low]?.marker.line <= last; low++) {
      const { id, marker: { line } } = this.#headings[low]
      const text = this.#groups.labels.get(id)
      if (text) labels.push({ row: line, text })
    }
    return labels
  }

  // headingAt returns the links of a row: a group's heading is one, which folds the group.
  #headingAt(row) {
    const heading = this.#headings.find(({ marker }) => marker.line === row)
    const length = heading && this.#screen.xterm.buffer.active.getLine(row).translateToString(true).length
    return heading && [{
      text: heading.id, range: { start: { x: 1, y: row + 1 }, end: { x: Math.max(1, length), y: row + 1 } },
      activate: () => this.#fold(heading.id), decorations: { underline: false, pointerCursor: true },
    }]
  }

  // fold folds or unfolds a group, and reads the output again. The group's heading stays where it is.
  async #fold(id) {
    const { viewportY } = this.#screen.xterm.buffer.active
    const before = this.#headings.find(heading => heading.id === id).marker.line - viewportY
    if (!this.#folded.delete(id)) this.#folded.add(id)
    await this.#host.reload()
    const heading = this.#headings.find(heading => heading.id === id)
    if (heading?.marker.line >= 0) this.#screen.xterm.scrollToLine(heading.marker.line - before)
  }

  // foldAll folds all groups, or unfolds them if most are folded.
  async #foldAll() {
    if (this.mostlyFolded) this.#folded.clear()
    else for (const { id } of this.#headings) this.#folded.add(id)
    await this.#host.reload()
  }

  // unfold unfolds all groups.
  async unfold() {
    if (!this.#folded.size) return
    this.#folded.clear()
    await this.#host.reload()
  }
}
