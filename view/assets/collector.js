// Collecting the lines of an output that tell of errors, with the places in files that they name.
import { isError, isSummary, mayTell, placeIn } from './firsterror.js'

const most = 500 // errors that are kept
const near = 6 // lines after an error that may tell its place
const maxText = 300 // characters of an error

export class Collector {
  all = [] // { line, end, text, place }, up to most
  count = 0
  lines // number of whole lines
  #begun // the unfinished line

  // constructor takes the number of lines before the text, and the begin of the unfinished one.
  constructor(lines = 0, begun = '') {
    this.lines = lines
    this.#begun = begun
  }

  add(text) {
    const whole = this.#begun + text
    if (mayTell.test(whole) || this.#waits) {
      const lines = whole.split('\n')
      this.#begun = lines.pop()
      for (const line of lines) this.#look(line, ++this.lines)
      return
    }
    for (let at = -1; (at = text.indexOf('\n', at + 1)) >= 0;) this.lines++
    this.#begun = whole.slice(whole.lastIndexOf('\n') + 1)
  }

  // finish looks at the unfinished line.
  finish() {
    if (this.#begun) this.#look(this.#begun, this.lines + 1)
    this.#begun = ''
  }

  // waits means that the place of the last error may follow.
  get #waits() {
    const last = this.all.at(-1)
    return last && !last.place && this.lines < last.end + near
  }

  #look(written, line) {
    const text = plainText(written), last = this.all.at(-1)
    if (!isError(text) || isSummary(text)) {
      if (this.#waits) last.place = placeIn(text)
      return
    }
    const full = this.all.length >= most
    const place = full && last.end !== line - 1 ? null : placeIn(text)
    if (last && !place && last.end === line - 1) {
      last.end = line // one error of several lines
      return
    }
    this.count++
    if (!full) this.all.push({ line, end: line, text: text.trim().slice(0, maxText), place })
  }
}

// collect returns the errors of a text.
export function collect(text) {
  const collector = new Collector()
  collector.add(text)
  collector.finish()
  return collector.all
}

const plainText = line => line.replace(/\x1b\[[\d;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, '').replace(/\r$/, '').replace(/^.*\r/, '')
