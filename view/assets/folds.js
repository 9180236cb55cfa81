// The groups of a command's output on the screen, which the user folds and unfolds.
import { bisect } from './bisect.js'
import { isError } from './firsterror.js'
import { Groups } from './groups.js'
import { Headings } from './headings.js'
import { linesOf } from './lines.js'
import { Prompts } from './prompts.js'
import { again, markLine, readable } from './rewrite.js'

const maxKept = 10_000 // ids of groups, over replacements of the output

export class Folds {
  #screen
  #reading
  #host
  #groups = null // divides the output into groups, once it has marks of them
  #prompts = null // also divides it
  #folded = new Set() // groups that are folded, by id
  #decided = new Set() // groups whose first fold is decided, by id
  #byUser = false // the user folds or unfolds groups
  #openedFirst = false // the group with the first error was opened
  #headings

  constructor(parts, screen, reading, host) {
    this.#screen = screen
    this.#reading = reading
    this.#host = host
    this.#headings = new Headings(parts.gutter, screen, host, id => this.#folded.has(id), id => this.#fold(id))
    host.on(parts.foldAll, 'click', () => this.#foldAll())
  }

  // begun means that output is divided into groups.
  get begun() { return !!this.#groups }

  // any means that the output has groups.
  get any() { return !!this.#groups?.any || !!this.#prompts?.any }

  // keepsPlace means that the screen does not go to the linked line once the output is loaded.
  get keepsPlace() { return this.#folded.size > 0 || this.#byUser }

  // mostlyFolded means that to unfold all groups changes no fewer than to fold all.
  get mostlyFolded() {
    const { all } = this.#headings
    return all.filter(({ id }) => this.#folded.has(id)).length * 2 >= all.length
  }

  get headings() { return this.#headings }

  // close forgets the output, and clear also what is folded.
  close() {
    this.#groups = null
    this.#headings.close()
  }

  clear() {
    this.#folded.clear()
    this.#decided.clear()
    this.#openedFirst = false
  }

  // begin divides the output of a screen into groups from here on, and makes their headings buttons.
  begin(atStart) {
    this.#divide(atStart)
    this.#headings.open()
  }

  // restart begins with other output.
  restart() {
    if (!this.#groups) return
    if (this.#decided.size > maxKept) this.clear()
    this.#divide(true)
    this.forget()
  }

  #divide(atStart) {
    this.#groups = new Groups(this.#folded, this.#decided, atStart, () => this.#prompts.open)
    this.#prompts = new Prompts(this.#folded, this.#groups, this.#screen, group => this.#headings.add(group))
  }

  // forget forgets the headings, because the screen has other output.
  forget() { this.#headings.all = [] }

  // reset forgets where the output is, because some of it is missing.
  reset() {
    this.#groups?.reset()
    this.#prompts?.reset()
  }

  // pieces yields the pieces of a text whose first byte has an offset; see Groups and Prompts. Lines of a PTY have no
  // other marks.
  * pieces(text, offset) {
    if (!this.#groups) return yield { text }
    for (const piece of this.#prompts.pieces(text, offset)) {
      if (piece.at && this.#screen.kind === 'pipe') yield this.#groups.rest()
      if (!piece.text || this.#screen.kind === 'pty') yield piece
      else yield* this.#groups.pieces(piece.text)
    }
  }

  // rest returns pieces of what is held back at the end of the output.
  rest() {
    const rest = this.#prompts.rest()
    return this.#screen.kind === 'pty' ? [{ text: rest }] : [...this.#groups.pieces(rest), this.#groups.rest()]
  }

  // onHeading says that a marked row is the heading of a group.
  onHeading = (group, marker) => {
    group.marker = marker
    this.#headings.add(group)
  }

  // openFirstError opens the group with the first error, if it is folded, for once. It resolves to whether it did.
  async openFirstError() {
    if (!this.#groups || this.#openedFirst) return false
    this.#openedFirst = true
    const ids = this.#groups.firstError
    if (!ids || this.#host.shown()) return false
    const { xterm } = this.#screen
    const heading = this.#headings.all.find(({ id }) => id === ids[0])
    if (!heading || linesOf(xterm).some(({ row, text }) => row < heading.marker.line && isError(text))) return false
    await this.unfoldFirstError()
    return true
  }

  // fold folds or unfolds a group, and reads the output again. The group's heading stays where it is.
  async #fold(id) {
    if (!await this.#canRead()) return
    const { viewportY } = this.#screen.xterm.buffer.active
    const before = this.#headings.all.find(heading => heading.id === id)?.marker.line - viewportY
    if (Number.isNaN(before)) return // the output has been replaced
    if (!this.#folded.delete(id)) this.#folded.add(id)
    this.#headings.next = id
    await this.#reload()
    const heading = this.#headings.all.find(heading => heading.id === id)
    if (!(heading?.marker.line >= 0)) return
    this.#screen.leaveEnd()
    this.#screen.xterm.scrollToLine(heading.marker.line - before)
    this.#headings.refocus(id)
  }

  // foldAll folds all groups, or unfolds them if most are folded.
  async #foldAll() {
    if (!await this.#canRead()) return
    if (this.mostlyFolded) this.#folded.clear()
    else for (const { id } of this.#headings.all) this.#folded.add(id)
    await this.#reload()
  }

  // canRead reports whether the output can be read again, or says that it cannot.
  async #canRead() {
    const signal = this.#host.signal(), can = await readable(this.#screen, this.#host)
    if (!can) this.#host.say('The output cannot be read again, so its groups stay as they are.', signal)
    return can && !signal.aborted
  }

  // reload shows what the user has folded. The linked line is marked, but not scrolled to. After the command's end, no
  // group opens by itself any more.
  async #reload() {
    this.#openedFirst ||= !!this.#host.row()?.ended
    this.#byUser = true
    await this.#host.reload()
    this.#byUser = false
    markLine(this.#screen, this.#host)
  }

  // unfold unfolds groups, or else all.
  async unfold(ids = [...this.#folded]) {
    let some = false
    for (const id of ids) some = this.#folded.delete(id) || some
    if (some) await again(this.#screen, this.#reading, this.#host)
    return some
  }

  // unfoldFirstError unfolds the groups that hide the first error.
  async unfoldFirstError() {
    const ids = this.#groups?.firstError ?? []
    if (!await this.unfold(ids)) return
    const [next] = this.#groups?.firstError ?? []
    const within = this.#headings.all.find(({ id }) => id === next)?.parent
    if (ids.includes(within?.id)) await this.unfoldFirstError() // the groups of a command are known only now
  }

  // unfoldLine unfolds the groups that hide a line.
  async unfoldLine(number) {
    const { numbers } = this.#screen
    const group = this.#headings.all[bisect(this.#headings.all, ({ marker }) => numbers.of(marker.line) >= number) - 1]
    if (!group || !this.#folded.has(group.id)) return
    if (numbers.of(group.marker.line) + (group.lines ?? Infinity) < number) return
    await this.unfold([group.id])
    await this.unfoldLine(number) // which a group in it may hide
  }
}
