// Groups of lines in output, as commands for CI mark them: GitHub's "::group::title" and "::endgroup::", also in the form
// "##[group]title", and GitLab's "section_start:time:name" and "section_end:time:name". A group has a heading instead of
// the line that begins it, and no line for the one that ends it. A folded group shows only its heading. GitHub's commands
// "::error file=name,line=1::text" and "##[error]text" are shown as text.

import { isError } from './firsterror.js'
import { isHeld, mayMark, maxMark } from './marks.js'
import { testMarkOf } from './testmarks.js'

// Marks beyond these numbers are text like any other, so that no output makes the page slow.
const maxOpen = 100
const maxGroups = 50_000

const maxIndents = 3

const escapes = String.raw`(?:\x1b\[[\d;]*[mK])*`
const github = new RegExp(`^${escapes}(?:::|##\\[)(group|endgroup)(?:::|\\])(.*?)\\r?$`)
const gitlab = new RegExp(`^${escapes}section_(start|end):(\\d+):([\\w.-]+)(\\[[^\\]\\r]*\\])?\\r${escapes}([^]*?)\\r?$`)
const command = new RegExp(`^${escapes}(?:::(error|warning|notice|debug)( .*?)?::|##\\[(error|warning|notice|debug)\\])(.*?)\\r?$`)
const colors = { error: 31, warning: 33, notice: 36, debug: 2 }

// Groups divides output into pieces. The ids of groups are the same each time the same output is divided.
export class Groups {
  folded // set of ids
  any = false // the output has a group
  firstError = null // ids of the folded groups around the first error that they hide
  #open = [] // the groups around the next line; see begin
  #line = 0 // number of lines up to now, but only within groups
  #seen = new Map() // how often a title has occurred
  #begun = 0 // number of groups
  #opened // of folded groups that GitLab asks to fold at first
  #held = '' // a line that may become a mark
  #atStart = true // of a line
  #outer
  #skipped = 0 // lines not shown since the last piece

  // constructor takes the set of folded groups, the set of those whose first fold was decided, both of which it adds to,
  // whether the output is at the start of a line, and a function that returns the group around these.
  constructor(folded, decided, atStart = true, outer = () => null) {
    this.folded = folded
    this.#opened = decided
    this.#atStart = atStart
    this.#outer = outer
  }

  // pieces yields { text, skipped, group }: text for the screen, the number of lines that are left out before it, and
  // the group whose heading is the text.
  * pieces(text) {
    if (!this.#held && !this.#open.length && !mayMark(text)) {
      this.#atStart = text.endsWith('\n') || !text && this.#atStart
      yield this.#piece(text)
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
      const begins = this.#atStart
      let mark = this.#atStart && whole && line.length < maxMark ? this.#markOf(line.slice(0, -1)) : null
      this.#atStart = whole
      this.#line += whole
      while (mark?.ends && mark.rest) { // another mark or text in the same line
        this.#end(mark)
        const { rest } = mark
        mark = this.#markOf(rest) ?? { text: rest }
      }
      if (mark?.begins) {
        const heading = this.#begin(mark)
        if (this.#open.some(group => group.folded && group !== heading)) {
          this.#skipped++
          continue
        }
        if (plain) yield this.#piece(plain)
        plain = ''
        yield { ...this.#piece(`${this.#indent(1)}\x1b[0;1;34m${heading.folded ? '▸' : '▾'}\x1b[39m ${mark.text ?? mark.title}\x1b[0m\n`), group: heading }
        continue
      }
      const hidden = this.#hidden
      if (mark?.ends) this.#end(mark)
      if (hidden) this.#lookForErrors(line)
      if (hidden || mark?.ends) {
        if (plain) yield this.#piece(plain)
        plain = ''
        this.#skipped += whole
      } else plain += this.#indented(mark ? `${mark.text}\n` : line, begins)
    }
    if (plain) yield this.#piece(plain)
  }

  // rest returns a piece of what is held back at the end of the output.
  rest() {
    const text = this.#hidden ? '' : markOf(this.#held)?.text ?? this.#held
    if (this.#held) this.#atStart = false
    this.#held = ''
    return this.#piece(text)
  }

  // endAll ends the groups that are open.
  endAll() { for (const group of this.#open.splice(0)) this.#close(group) }

  // reset forgets where the output is, because some of it is missing.
  reset() {
    this.#open = []
    this.#held = ''
    this.#atStart = true
    this.#skipped = 0
  }

  // indent moves to the column of a group's lines, or of its heading.
  #indent(heading = 0) {
    const depth = Math.min(this.#open.length - heading, maxIndents)
    return depth > 0 ? `\x1b[${2 * depth}C` : ''
  }

  // indented returns a text of one line within the groups that are open. It may begin the line.
  #indented(line, begins) {
    const indent = this.#indent()
    if (!indent) return line
    return (begins && /[^\r\n]/.test(line) ? indent : '') + line.replace(/\r(?!\n)/g, `\r${indent}`)
  }

  get #hidden() { return this.#open.some(group => group.folded) }

  #piece(text) {
    const skipped = this.#skipped
    this.#skipped = 0
    return { text, skipped }
  }

  #markOf(line) {
    const mark = markOf(line) ?? testMarkOf(line, this.#open)
    return mark?.begins && (this.#open.length >= maxOpen || this.#begun >= maxGroups) ? null : mark
  }

  // lookForErrors remembers which folded groups hide an error, and where the first one is.
  #lookForErrors(line) {
    const folded = this.#open.filter(group => group.folded)
    if (folded.every(group => group.hidesError) || line.length >= maxMark || !isError(plainText(line))) return
    for (const group of folded) group.hidesError = true
    this.firstError ??= folded.map(group => group.id)
  }

  // begin returns a new group. Once it has ended, it has lines, the number of those between the marks, and seconds, which
  // is NaN if the marks do not tell. line is the number of its heading, comparable with those of its parents.
  /** @param {Mark} mark */
  #begin({ title, name, folds, time, closes = [] }) {
    const first = this.#open.findIndex(group => closes.includes(group.name))
    if (first >= 0) for (const group of this.#open.splice(first)) this.#close(group)
    this.any = true
    this.#begun++
    if (!name) { // GitHub's are not nested
      const at = this.#open.findLastIndex(group => !group.name)
      if (at >= 0) this.#close(this.#open.splice(at, 1)[0])
    }
    const times = (this.#seen.get(title) ?? 0) + 1
    this.#seen.set(title, times)
    const id = `${times} ${title}`
    if (folds && !this.#opened.has(id)) this.folded.add(id)
    this.#opened.add(id)
    const group = { id, title, name, folded: this.folded.has(id), time, line: this.#line, parent: this.#open.at(-1) ?? this.#outer() }
    this.#open.push(group)
    return group
  }

  /** @param {Mark} mark */
  #end({ name, time }) {
    const at = this.#open.findLastIndex(group => group.name === name)
    if (at < 0) return
    for (const group of this.#open.splice(at)) this.#close(group, time)
  }

  // close says that the last line ended a group.
  #close(group, time) { Object.assign(group, { lines: this.#line - group.line - 1, seconds: time - group.time }) }
}

/**
 * What a line marks: the begin of a group, its end, or the text of a command.
 * @typedef {object} Mark
 * @property {boolean} [begins]
 * @property {boolean} [ends]
 * @property {string} [name]
 * @property {number} [time] in seconds
 * @property {string} [title]
 * @property {boolean} [folds]
 * @property {string} [rest] of the line
 * @property {string[]} [closes] names of groups
 * @property {string} [text]
 */

/**
 * markOf returns what a line marks, or null.
 * @returns {Mark | null}
 */
function markOf(line) {
  const hub = github.exec(line)
  if (hub) return hub[1] === 'group' ? { begins: true, title: hub[2] || 'Group', name: '' } : { ends: true, name: '' }
  const lab = gitlab.exec(line)
  if (lab) {
    const [, kind, time, name, options = '', rest] = lab
    if (kind === 'end') return { ends: true, name, time: Number(time), rest }
    return { begins: true, title: plainText(rest) || name, name, time: Number(time), folds: /\bcollapsed=true\b/.test(options) }
  }
  const told = command.exec(line)
  return told && { text: `\x1b[${colors[told[1] ?? told[3]]}m${textOf(told)}\x1b[22;39m` }
}

// textOf returns the text of a command of GitHub.
/** @param {string[]} match */
function textOf([, word, properties = '', otherWord, text]) {
  const named = name => new RegExp(`[ ,]${name}=([^,]+)`).exec(properties)?.[1]
  const place = named('file') && [named('file'), named('line'), named('col')].filter(Boolean).join(':')
  const name = word ?? otherWord
  const parts = [name[0].toUpperCase() + name.slice(1), place, named('title'), word ? unescape(text) : text]
  return parts.filter(Boolean).join(': ')
}

const unescape = text => text.replace(/%(25|0[AD])/gi, (_, code) => code === '25' ? '%' : ' ')

const plainText = text => text.replace(/\x1b\[[\d;]*[A-Za-z]/g, '').trim()

// asShown returns plain text, as History has it, with its marks as the screen shows them. GitLab's marks are already
// overwritten there.
export function asShown(plain) {
  return plain.replace(/^(?:::|##\[).*$/gm, line => {
    const mark = line.length < maxMark && markOf(line)
    return !mark ? line : mark.begins ? `▾ ${mark.title}` : mark.ends ? '' : plainText(mark.text)
  })
}
