// When the lines of an output were written, as far as the server knows: at what time the output had how many lines. The
// server is asked again while the command writes more.
import { bisect } from './bisect.js'

const most = 10_000 // times; then the server is asked for all, of which it keeps fewer

export class LineTimes {
  from // offset of the first line
  end // offset of the output's end at the last answer, or undefined before
  none = false // the server knows no times
  started // when the command began, in milliseconds since 1970
  ended // and ended, or 0
  #host
  #mark // offset from which lines are counted
  #before = 0 // lines between from and the mark
  #lines = 0 // lines between from and the end
  #known = [] // pairs of lines from the first, and of milliseconds since the command's start
  #all = -1 // milliseconds when the output had all bytes up to the end, or -1
  #late = false // output was written during the last request
  #asking = false
  #asked = null // the row at the last request, if it was answered

  // constructor takes two offsets. at counts lines from the mark, and knows those from the first offset on.
  constructor(host, from, mark) {
    this.#host = host
    this.from = from
    this.#mark = mark
  }

  // stale means that the command has written or ended since the last request.
  get stale() {
    const row = this.#host.row()
    return this.#late || !!row && (row.bytes !== this.#asked?.bytes || row.ended !== this.#asked.ended)
  }

  // ask asks for the times of more lines. It resolves to "known" after an answer, "lost" if output was dropped that was
  // not counted, and '' without an answer.
  async ask() {
    const row = this.#host.row()
    if (this.#asking || document.hidden || !row?.bytes || row.pty || !this.stale) return ''
    this.#asking = true
    this.#asked = row
    if (this.#known.length > most) this.end = undefined
    const query = `from=${this.end ?? this.from}&mark=${this.#mark}`
    const answer = await request(`${this.#host.src()}/times?${query}`, this.#host.signal())
    this.#asking = false
    if (answer) return this.#learn(answer) ? 'known' : 'lost'
    this.#asked = null // asks again
    return ''
  }

  // learn adds an answer. It reports false if output was dropped that was not counted.
  #learn({ started, ended, from, end, lines, mark, times, all }) {
    if (this.end === undefined) {
      this.#before = mark
      this.#lines = 0
      this.#known = []
    } else if (from !== this.end) return false
    if (this.#before < 0) return false
    for (const [line, at] of times) this.#known.push([this.#lines + line, at])
    Object.assign(this, { started, ended, end })
    this.#lines += lines
    this.#all = all
    this.none = !this.#known.length
    this.#late = !this.none && all < 0
    return true
  }

  // lineAt returns the number of the first line written at a time or later, in milliseconds since the command's start. The
  // first line has the number 1.
  lineAt(time) {
    const [lines] = this.#known[bisect(this.#known, ([, at]) => at >= time) - 1] ?? [0]
    return Math.max(1, Math.min(lines + 1, this.#lines))
  }

  // at returns when a line was written: after one time and by another, in milliseconds since the command's start. It
  // returns null if that is not known. whole says that the output ends where the last answer does.
  at(number, whole) {
    const line = number + this.#before
    if (!(line >= 0) || this.from === this.#mark && number < 0) return null
    const next = bisect(this.#known, ([lines]) => lines > line)
    const after = this.#known[next - 1]?.[1] ?? 0
    const by = this.#known[next]?.[1] ?? (whole && line === this.#lines ? this.#all : -1) // the last line may not be whole
    return by < 0 ? null : { after: Math.min(after, by), by, started: this.started }
  }
}

// request returns the answer to a request, or null without one.
async function request(url, signal) {
  try {
    const response = await fetch(url, { signal })
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}
