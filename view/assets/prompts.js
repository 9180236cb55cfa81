// The commands of a shell whose output has marks of shell integration: OSC 133, or 633 in VS Code's form. "A" begins a
// prompt, "B" the command line, "C" the output, and "D;1" ends that with an exit status. Each command is a group. Its
// heading is the row of the command line, as written. If a shell does not mark the output, that begins in the line after.
import { isError } from './firsterror.js'
import { textOf } from './lines.js'
import { maxMark, mayPrompt, promptTail } from './marks.js'

const mark = /\x1b\][16]33;([ABCD])((?:;[^\x07\x1b]*)?)(?:\x07|\x1b\\)/g
const maxMarks = 20_000 // others have no effect
const maxTitle = 200 // characters
const maxRows = 20 // of a command line

// Prompts divides output into pieces, like Groups. A piece's function at is called once the screen has the text before.
export class Prompts {
  any = false // the output has a command
  open = null // the group around the next text
  #folded
  #groups
  #screen
  #add
  #marks = 0
  #held = '' // an unfinished mark
  #ready = false // a prompt or a command line was marked, and no output since
  #line = false // a command line has begun and not ended
  #marked = false // the shell marks the begin of output
  #begin = null // of the prompt or the command line on the screen: { place, x }

  // constructor takes the set of folded groups, the Groups of the same output, the screen, and a function that receives a
  // group whose heading is on the screen.
  constructor(folded, groups, screen, add) {
    this.#folded = folded
    this.#groups = groups
    this.#screen = screen
    this.#add = add
  }

  // pieces yields { text, skipped, at } for a text whose first byte has an offset, which the ids of groups are made of.
  * pieces(text, offset) {
    const { open } = this
    if (!this.#held && !this.#line && (!open || open.written && !open.folded) && !mayPrompt(text)) {
      this.#count(text)
      return yield { text }
    }
    offset -= bytesOf(this.#held)
    text = this.#held + text
    this.#held = promptTail(text)
    const end = text.length - this.#held.length
    let at = 0
    for (const found of text.slice(0, end).matchAll(mark)) {
      if (found[0].length > maxMark || ++this.#marks > maxMarks) continue
      const before = text.slice(at, found.index)
      yield* this.#plain(before, offset)
      offset += bytesOf(before)
      yield* this.#mark(found[1], found[2], offset)
      offset += found[0].length
      at = found.index + found[0].length
    }
    yield* this.#plain(text.slice(at, end), offset)
  }

  // rest returns what is held back at the end of the output.
  rest() {
    const text = this.#held
    this.#held = ''
    return text
  }

  // reset forgets where the output is, because some of it is missing.
  reset() {
    this.open = null
    this.#held = ''
    this.#ready = this.#line = false
    this.#begin = null
  }

  get #pty() { return this.#screen.kind === 'pty' }

  // plain yields a text without marks.
  * #plain(text, offset) {
    if (this.#line) {
      const end = text.indexOf('\n') + 1
      if (!end) return yield { text }
      this.#line = false
      yield { text: text.slice(0, end) }
      if (!this.#marked) yield* this.#output('', offset + bytesOf(text.slice(0, end)), true)
      text = text.slice(end)
    }
    if (!text) return
    const { open } = this
    if (open && !open.written && isWritten(text)) {
      open.written = true
      if (!this.#pty && !open.byLine) yield { text: '', at: () => this.#show(open) }
    }
    const skipped = this.#count(text)
    if (!open?.folded) return yield { text }
    if (!this.#pty) this.#lookForErrors(text)
    yield { text: '', skipped }
  }

  // count counts the lines of a text in the group that is open.
  #count(text) {
    const { open } = this
    if (!open) return 0
    const lines = linesIn(text)
    open.count += lines
    open.within = isWritten(text.slice(1 + Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')))) // a shell may erase a line
    return lines
  }

  // mark yields what a mark changes.
  * #mark(letter, parameters, offset) {
    if (letter === 'A' || letter === 'D') this.#groups.endAll()
    if (letter === 'A' || letter === 'B') {
      if (/;k=[^i]/.test(parameters)) return // another prompt of the same command
      yield* this.#end('')
      this.#ready = true
      this.#line = letter === 'B'
      yield { text: '', at: () => this.#beginAt() }
    } else if (letter === 'D') yield* this.#end(parameters)
    else if (this.#ready) {
      if (this.open) this.open = null // which began with the line
      this.#marked = true
      yield* this.#output(parameters, offset)
    }
  }

  // output begins a group. byLine means that its begin is not marked.
  * #output(parameters, offset, byLine = false) {
    this.#line = false
    if (!byLine) this.#ready = false
    const id = `${offset} prompt`, folded = this.#folded.has(id)
    const group = this.open = { id, title: '', prompt: true, byLine, folded, written: false, count: 0, within: false, seconds: NaN }
    yield { text: '', at: () => this.#nameAt(group, parameters) }
  }

  // end ends the group that is open.
  * #end(parameters) {
    const group = this.open
    this.open = null
    this.#ready = this.#line = false
    if (!group) return
    const status = Number(/^;(\d{1,10})/.exec(parameters)?.[1] ?? 0)
    yield { text: '', at: () => this.#endAt(group, status) }
  }

  // beginAt remembers where a command line begins.
  #beginAt() {
    const { xterm, numbers: { rows } } = this.#screen, { active } = xterm.buffer
    if (!this.#begin?.used) this.#begin?.place.dispose()
    this.#begin = active.type === 'normal' ? { place: rows.at(), x: active.cursorX } : null
  }

  // nameAt names a group whose command line is on the screen.
  #nameAt(group, parameters) {
    const { xterm, numbers: { rows } } = this.#screen, { active } = xterm.buffer, begin = this.#begin
    if (!(begin?.place.line >= 0) || active.type !== 'normal') return
    const y = begin.place.line, end = { x: active.cursorX, y: Math.min(active.baseY + active.cursorY, y + maxRows) }
    const given = /;cmdline_url=([^;]*)/.exec(parameters)?.[1]
    const title = decoded(given) || textOf(xterm, { start: { x: begin.x, y }, end })
    group.more = Math.max(0, linesIn(title) - 1)
    group.title = title.replace(/[\s\p{C}]+/gu, ' ').trim().slice(0, maxTitle) 
    group.text = active.getLine(y).translateToString(true)
    group.from = end.y + rows.dropped
    group.marker = begin.place
    begin.used = true
  }

  // endAt says that a group ends at the cursor.
  #endAt(group, status) {
    const { xterm, numbers } = this.#screen, { active } = xterm.buffer
    if (!group.marker || active.type !== 'normal') return
    const { rows } = numbers, row = active.baseY + active.cursorY, begun = Number(active.cursorX > 0)
    group.lines = this.#pty && !group.folded ? Math.max(0, row + rows.dropped - group.from + begun) : group.count + group.more + Number(group.within)
    group.status = status
    group.end = rows.at(row + begun)
    const empty = group.byLine ? !group.written || !group.title : !group.lines && !status
    if (!group.shown && !empty) this.#show(group)
  }

  #show(group) {
    group.title ||= 'Command'
    if (!(group.marker?.line >= 0) || group.shown) return
    group.shown = this.any = true
    this.#add(group)
  }

  // lookForErrors remembers whether the group that is open hides an error.
  #lookForErrors(text) {
    const { open } = this
    if (open.hidesError || !text.split('\n').some(line => line.length < maxMark && isError(line.replace(/\x1b\[[\d;]*[A-Za-z]|\r/g, '')))) return
    open.hidesError = true
    this.#groups.firstError ??= [open.id]
  }
}

// isWritten reports whether a text is more than space.
const isWritten = text => /\S/.test(text.replace(/\x1b\[[\d;?]*[A-Za-z]/g, ''))

// linesIn returns the number of line ends in a text.
function linesIn(text) {
  let lines = 0
  for (let at = -1; (at = text.indexOf('\n', at + 1)) >= 0;) lines++
  return lines
}

const bytesOf = text => /^[\x00-\x7f]*$/.test(text) ? text.length : new TextEncoder().encode(text).length

// decoded returns a text whose characters may be encoded as in a URL.
function decoded(text = '') {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
