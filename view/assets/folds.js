// The groups of a command's output on the screen, which the user folds and unfolds.
import { bisect } from './bisect.js'
import { showExtents } from './extents.js'
import { isError } from './firsterror.js'
import { Groups } from './groups.js'
import { GroupTimes } from './grouptimes.js'
import { InView } from './inview.js'
import { linesOf } from './lines.js'
import { duration, element } from './text.js'

const maxKept = 10_000 // ids of groups, over replacements of the output

export class Folds {
  #screen
  #host
  #gutter
  #times // of groups, once there are some
  #groups = null // divides the output into groups, once it has marks of them
  #folded = new Set() // groups that are folded, by id
  #decided = new Set() // groups whose first fold is decided, by id
  #byUser = false // the user folds or unfolds groups
  #openedFirst = false // the group with the first error was opened
  #headings = [] // the groups with a heading on the screen, each with the marker of its row
  #next = null // the id of the group whose heading gets the focus when it is shown

  constructor(parts, screen, host) {
    this.#gutter = parts.gutter
    this.#screen = screen
    this.#host = host
    host.on(parts.foldAll, 'click', () => this.#foldAll())
  }

  // begun means that output is divided into groups.
  get begun() { return !!this.#groups }

  // any means that the output has groups.
  get any() { return !!this.#groups?.any }

  // keepsPlace means that the screen does not go to the linked line once the output is loaded.
  get keepsPlace() { return this.#folded.size > 0 || this.#byUser }

  // mostlyFolded means that to unfold all groups changes no fewer than to fold all.
  get mostlyFolded() {
    return this.#headings.filter(({ id }) => this.#folded.has(id)).length * 2 >= this.#headings.length
  }

  // close forgets the output, and clear also what is folded.
  close() {
    this.#groups = null
    this.#headings = []
    this.#gutter.style.background = this.#gutter.dataset.groups = ''
  }

  clear() {
    this.#folded.clear()
    this.#decided.clear()
    this.#openedFirst = false
  }

  // begin divides the output of a screen into groups from here on, and makes their headings buttons.
  begin(atStart) {
    this.#groups = new Groups(this.#folded, this.#decided, atStart)
    const inView = new InView(this.#screen.xterm, (first, last) => this.#decorations(first, last))
    this.#times = new GroupTimes(this.#screen, this.#host, () => inView.draw())
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
  onHeading = (group, marker) => {
    group.marker = marker
    this.#headings.push(group)
  }

  // openFirstError opens the group with the first error, if it is folded, for once. It resolves to whether it did.
  async openFirstError() {
    if (!this.#groups || this.#openedFirst) return false
    this.#openedFirst = true
    const ids = this.#groups.firstError
    if (!ids || this.#host.shown()) return false
    const { xterm } = this.#screen
    const heading = this.#headings.find(({ id }) => id === ids[0])
    if (!heading || linesOf(xterm).some(({ row, text }) => row < heading.marker.line && isError(text))) return false
    await this.unfold(ids)
    return true
  }

  // decorations returns the buttons of the headings in some rows, and how long their groups were. It also shows the
  // extents of the groups in these rows.
  #decorations(first, last) {
    const { xterm, numbers } = this.#screen
    const { cols, buffer: { active } } = xterm
    const focused = this.#next ?? xterm.element.getRootNode().activeElement?.dataset.group
    const inView = numbers.inView()
    const extents = []
    let next = bisect(this.#headings, ({ marker }) => marker.line >= first)
    const above = this.#headings[next - 1], at = above ? numbers.of(above.marker.line) : 0
    for (let group = above; group; group = group.parent) {
      extents.push(extentOf(group, at && at - above.line + group.line))
    }
    const found = [], owned = []
    for (; this.#headings[next]?.marker.line <= last; next++) {
      const group = this.#headings[next], { id, marker: { line: row } } = group
      const number = inView[row - first] || 0
      extents.push(extentOf(group, number))
      const text = [group.hidesError && 'error', this.#lengthOf(group, number)].filter(Boolean).join(', ')
      const name = text ? `${group.title}, ${text}` : group.title
      found.push({ row, width: cols, name, id, show: shown => this.#showButton(shown, row, name, id, id === focused) })
      owned[row - first] = `heading-${row}`
      if (!text || columnsOf(active.getLine(row)) + text.length + 2 > cols) continue
      found.push({ row, x: cols - text.length - 1, width: text.length + 1, text, show: shown => showLabel(shown, text, group.hidesError) })
    }
    showExtents(this.#gutter, numbers.of(first), inView, extents)
    const read = xterm.element.querySelectorAll('.xterm-accessibility-tree > *') // the rows as screen readers read them
    read.forEach((row, i) => owned[i] ? row.setAttribute('aria-owns', owned[i]) : row.removeAttribute('aria-owns'))
    return found
  }

  // lengthOf says how long a group was, in time or else in lines, once it has ended. number is that of its heading.
  #lengthOf({ lines, seconds }, number) {
    if (lines === undefined) return ''
    if (Number.isNaN(seconds)) seconds = number && this.#times.secondsOf(number, number + lines + 1) || NaN // 0 says little
    if (seconds >= 60) return duration(seconds * 1000)
    return seconds >= 0 ? `${seconds} s` : `${lines} ${lines === 1 ? 'line' : 'lines'}`
  }

  // showButton shows the button of a heading, which folds or unfolds its group.
  #showButton(shown, row, name, id, focused) {
    if (shown.firstChild) return
    const button = element('button', {
      type: 'button', id: `heading-${row}`, class: 'heading', 'aria-label': name, 'aria-expanded': !this.#folded.has(id),
      onclick: () => this.#fold(id), onmousedown: event => event.stopPropagation(), // which would begin a selection
      onkeydown: event => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
        if (!step && !/^(?:Page|Home|End)/.test(event.key)) return
        event.preventDefault()
        if (step) this.#focus(id, step)
        else this.#screen.xterm.textarea.dispatchEvent(new KeyboardEvent('keydown', event)) // which scrolls
      },
    })
    button.dataset.group = id
    shown.append(button)
    if (!focused || shown.getRootNode().activeElement !== this.#screen.xterm.textarea) return
    this.#next = null
    button.focus({ preventScroll: true })
  }

  // focus gives the focus to the heading a number of headings from that of a group, and scrolls to it if it is out of view.
  #focus(id, step) {
    const next = this.#headings[this.#headings.findIndex(heading => heading.id === id) + step]
    const { xterm } = this.#screen, { viewportY } = xterm.buffer.active, row = next?.marker.line
    if (!(row >= 0)) return
    this.#screen.leaveEnd()
    if (row >= viewportY && row < viewportY + xterm.rows) this.#buttonOf(next.id)?.focus()
    else {
      this.#next = next.id
      xterm.scrollToLine(Math.max(0, row - Math.floor(xterm.rows / 3)))
    }
  }

  #buttonOf(id) {
    return [...this.#screen.xterm.element.querySelectorAll('.heading')].find(button => button.dataset.group === id)
  }

  // fold folds or unfolds a group, and reads the output again. The group's heading stays where it is.
  async #fold(id) {
    if (!await this.#canRead()) return
    const { viewportY } = this.#screen.xterm.buffer.active
    const before = this.#headings.find(heading => heading.id === id)?.marker.line - viewportY
    if (Number.isNaN(before)) return // the output has been replaced
    if (!this.#folded.delete(id)) this.#folded.add(id)
    this.#next = id
    await this.#reload()
    const heading = this.#headings.find(heading => heading.id === id)
    if (!(heading?.marker.line >= 0)) return
    this.#screen.leaveEnd()
    this.#screen.xterm.scrollToLine(heading.marker.line - before)
  }

  // foldAll folds all groups, or unfolds them if most are folded.
  async #foldAll() {
    if (!await this.#canRead()) return
    if (this.mostlyFolded) this.#folded.clear()
    else for (const { id } of this.#headings) this.#folded.add(id)
    await this.#reload()
  }

  // canRead reports whether the output can be read again, or says that it cannot.
  async #canRead() {
    const signal = this.#host.signal()
    const { ok } = await fetch(`${this.#host.src()}/times?from=${this.#host.row().bytes}`, { signal }).catch(() => ({}))
    if (!ok) this.#host.say('The output cannot be read again, so its groups stay as they are.', signal)
    return ok && !signal.aborted
  }

  // reload shows what the user has folded. The linked line is marked, but not scrolled to. After the command's end, no
  // group opens by itself any more.
  async #reload() {
    this.#openedFirst ||= !!this.#host.row()?.ended
    this.#byUser = true
    await this.#host.reload()
    this.#byUser = false
    const line = Number(this.#host.line()), { numbers } = this.#screen
    const row = line && numbers ? numbers.rowOf(line) : -1 // no numbers once the element is removed
    if (row >= 0 && numbers.of(row) === line) this.#screen.mark(row)
  }

  // unfold unfolds groups, or else all.
  async unfold(ids = [...this.#folded]) {
    let some = false
    for (const id of ids) some = this.#folded.delete(id) || some
    if (some) await this.#host.reload()
  }

  // unfoldFirstError unfolds the groups that hide the first error.
  async unfoldFirstError() { await this.unfold(this.#groups?.firstError ?? []) }

  // unfoldLine unfolds the groups that hide a line.
  async unfoldLine(number) {
    const { numbers } = this.#screen
    const group = this.#headings[bisect(this.#headings, ({ marker }) => numbers.of(marker.line) >= number) - 1]
    if (!group || !this.#folded.has(group.id)) return
    if (numbers.of(group.marker.line) + (group.lines ?? Infinity) < number) return
    await this.unfold([group.id])
    await this.unfoldLine(number) // which a group in it may hide
  }
}

// extentOf returns the numbers of the first and the last line of a group whose heading has a number, or 0.
function extentOf({ lines = Infinity }, number) { return number ? [number + 1, number + lines] : [0, -1] }

// columnsOf returns how many columns of a row have text.
function columnsOf(line) {
  let columns = line.length
  while (columns && !line.getCell(columns - 1).getCode() && line.getCell(columns - 1).getWidth()) columns--
  return columns
}

function showLabel(shown, text, bad) {
  // The button has the text in its name.
  Object.assign(shown, { textContent: text, className: `xterm-decoration match label${bad ? ' bad' : ''}`, ariaHidden: 'true' })
}
