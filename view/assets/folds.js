// The groups of a command's output on the screen, which the user folds and unfolds.
import { Groups } from './groups.js'

export class Folds {
  #screen
  #host
  #groups = null // divides the output into groups, once it has marks of them
  #folded = new Set() // groups that are folded, by id
  #decided = new Set() // groups whose first fold is decided, by id
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

  // close forgets the output, and clear also what is folded.
  close() {
    this.#groups = null
    this.#headings = []
  }

  clear() {
    this.#folded.clear()
    this.#decided.clear()
  }

  // begin divides the output of a screen into groups from here on, and makes their headings links.
  begin(atStart) {
    this.#groups = new Groups(this.#folded, this.#decided, atStart)
    this.#screen.xterm.registerLinkProvider({ provideLinks: (y, callback) => callback(this.#headingAt(y - 1)) })
  }

  // forget forgets the headings, because the screen has other output.
  forget() { this.#headings = [] }

  // reset forgets where the output is, because some of it is missing.
  reset() { this.#groups?.reset() }

  // pieces returns the pieces of a text; see Groups.
  pieces(text) { return this.#groups?.pieces(text) ?? [{ text }] }

  // rest returns what is held back at the end of the output.
  rest() { return this.#groups?.rest() }

  // addHeading says that a marked row is the heading of a group.
  addHeading(id, marker) { this.#headings.push({ id, marker }) }

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

  // foldAll folds all groups, or unfolds them if some are folded.
  async #foldAll() {
    if (this.#folded.size) this.#folded.clear()
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
