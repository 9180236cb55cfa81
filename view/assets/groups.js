// Groups of lines in output, as commands for CI mark them: GitHub's "::group::title" and "::endgroup::", also in the form
// "##[group]title", and GitLab's "section_start:time:name" and "section_end:time:name". A group has a heading instead of
// the line that begins it, and an empty line for the one that ends it. A folded group shows only its heading.

import { isHeld, mayMark, maxMark } from './marks.js'

// Marks beyond these numbers are text like any other, so that no output makes the page slow.
const maxOpen = 100
const maxGroups = 10_000

const escapes = String.raw`(?:\x1b\[[\d;]*[mK])*`
const github = new RegExp(`^${escapes}(?:::|##\\[)(group|endgroup)(?:::|\\])(.*?)\\r?$`)
const gitlab = new RegExp(`^${escapes}section_(start|end):\\d+:([\\w.-]+)(\\[[^\\]\\r]*\\])?\\r${escapes}(.*?)\\r?$`)

// Groups divides output into pieces. The ids of groups are the same each time the same output is divided.
export class Groups {
  folded // set of ids
  any = false // the output has a group
  #open = [] // { id, name, folded } of the groups around the next line
  #seen = new Map() // how often a title has occurred
  #begun = 0 // number of groups
  #opened // of folded groups that GitLab asks to fold at first
  #held = '' // a line that may become a mark
  #atStart = true // of a line
  #skipped = 0 // lines not shown since the last piece

  // constructor takes the set of folded groups, the set of those whose first fold was decided, both of which it adds to,
  // and whether the output is at the start of a line.
  constructor(folded, decided, atStart = true) {
    this.folded = folded
    this.#opened = decided
    this.#atStart = atStart
  }

  // pieces yields { text, skipped, group }: text for the screen, the number of lines that are left out before it, and
  // the id of the group whose heading is the text.
  * pieces(text) {
    if (!this.#held && !this.#open.length && !mayMark(text)) {
      this.#atStart = text.endsWith('\n') || !text && this.#atStart
      yield { text, skipped: 0 }
      return
    }
    text = this.#held + text
    this.#held = ''
    let plain = ''
    for (let at = 0, end; at < text.length; at = end) {
      end = text.indexOf('\n', at) + 1 || text.length
      const line = text.slice(at, end)
      const whole = line.endsWith('\n')
      if (!whole && this.#atStart && (isHeld(line) || this.#hidden && line.length < maxMark)) {
        this.#held = line
        break
      }
      const mark = this.#atStart && whole && line.length < maxMark ? this.#markOf(line.slice(0, -1)) : null
      this.#atStart = whole
      if (mark?.begins) {
        const heading = this.#begin(mark)
        if (this.#open.some(group => group.folded && group !== heading)) {
          this.#skipped++
          continue
        }
        if (plain) yield this.#piece(plain)
        plain = ''
        yield { ...this.#piece(`\x1b[0;1;34m${heading.folded ? '▸' : '▾'}\x1b[39m ${mark.title}\x1b[0m\n`), group: heading.id }
      } else {
        if (this.#hidden) this.#skipped += whole
        else plain += mark ? '\n' : line
        if (mark) this.#end(mark)
      }
      if (plain && this.#skipped) {
        yield this.#piece(plain)
        plain = ''
      }
    }
    if (plain) yield this.#piece(plain)
  }

  // rest returns what is held back at the end of the output.
  rest() {
    const held = this.#hidden ? '' : this.#held
    this.#held = ''
    return held
  }

  // reset forgets where the output is, because some of it is missing.
  reset() {
    this.#open = []
    this.#held = ''
    this.#atStart = true
    this.#skipped = 0
  }

  get #hidden() { return this.#open.some(group => group.folded) }

  #piece(text) {
    const skipped = this.#skipped
    this.#skipped = 0
    return { text, skipped }
  }

  #markOf(line) {
    const mark = markOf(line)
    return mark?.begins && (this.#open.length >= maxOpen || this.#begun >= maxGroups) ? null : mark
  }

  #begin({ title, name, folds }) {
    this.any = true
    this.#begun++
    if (!name) this.#open = this.#open.filter(group => group.name) // GitHub's are not nested
    const times = (this.#seen.get(title) ?? 0) + 1
    this.#seen.set(title, times)
    const id = `${times} ${title}`
    if (folds && !this.#opened.has(id)) this.folded.add(id)
    this.#opened.add(id)
    const group = { id, name, folded: this.folded.has(id) }
    this.#open.push(group)
    return group
  }

  #end({ name }) {
    const at = this.#open.findLastIndex(group => group.name === name)
    if (at >= 0) this.#open.length = at
  }
}

function markOf(line) {
  const hub = github.exec(line)
  if (hub) return { begins: hub[1] === 'group', title: hub[2] || 'Group', name: '' }
  const lab = gitlab.exec(line)
  if (!lab) return null
  return { begins: lab[1] === 'start', title: plainText(lab[4]) || lab[2], name: lab[2], folds: /\bcollapsed=true\b/.test(lab[3] ?? '') }
}

const plainText = text => text.replace(/\x1b\[[\d;]*[A-Za-z]/g, '').trim()

// asShown returns plain text, as History has it, with its marks as the screen shows them. GitLab's marks are already
// overwritten there.
export function asShown(plain) {
  return plain.replace(/^(?:::group::|##\[group\])(.*)$/gm, (_, title) => `▾ ${title || 'Group'}`)
    .replace(/^(?:::endgroup::|##\[endgroup\]).*$/gm, '')
}
