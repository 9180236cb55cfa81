// When each line of the output was written, in a column beside the numbers. The server knows at what time the output had
// how many lines, and is asked again while the command writes more.
import { kept } from './kept.js'
import { LineTimes } from './linetimes.js'
import { element } from './text.js'

const pause = 1000 // milliseconds between requests
const exact = 1500 // a time that is known to these milliseconds is shown as it is

// base is the number of the line at an epoch's mark. Lines before it have smaller numbers, which are positive.
const base = 1e9

const full = new Intl.DateTimeFormat([], { dateStyle: 'full', timeStyle: 'medium' })
const format = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit' }) // as text.js has it
const clock = ms => format.format(ms)

export class Times {
  #parts
  #screen
  #reading
  #live
  #host
  #pane = element('div', { class: 'gutter times', role: 'group', 'aria-label': 'When the lines were written' })
  #lines = null // of the screen, while it is shown
  #epoch = null // the LineTimes of the lines on the screen, of which that at the mark has the number base
  #timer = 0
  #kind = '' // of the times that are shown
  #said = null // the connection whose lines were said to have no times

  constructor(parts, screen, reading, live, host) {
    this.#parts = parts
    this.#screen = screen
    this.#reading = reading
    this.#live = live
    this.#host = host
    Object.assign(this.#pane.style, { display: 'block', cursor: 'pointer' }) // also in a narrow pane
    host.on(this.#pane, 'click', ({ target }) => { if (target.closest('time')) host.pickTime(Number(target.closest('time').dataset.since)) })
    host.on(document, 'visibilitychange', () => this.#ask())
    host.on(parts.box.getRootNode().host, 'status', ({ detail: { ended } }) => {
      this.#hide()
      if (ended || this.#epoch?.end === undefined) this.#ask()
    })
    host.stopped.addEventListener('abort', () => this.close())
  }

  get #on() { return !!this.#kind }

  // choose shows times of a kind, "clock" or "since" the start, or hides those that are shown. The choice is kept.
  async choose(kind) {
    const before = this.#kind
    this.#kind = kind === before ? '' : kind
    kept('acpTerminalTimes', this.#kind)
    this.#parts.times.setAttribute('aria-checked', this.#kind === 'clock')
    this.#parts.since.setAttribute('aria-checked', this.#kind === 'since')
    this.#pane.style.minWidth = `calc(${(kind === 'clock' ? clock(0).length : 8) + 1}ch + 10px)`
    if (!this.#on) return this.close()
    if (before && this.#lines) return this.#lines.draw()
    await this.#host.loaded() // until then it is not known whether there are groups
    if (!this.#on || this.#lines) return
    if (this.#host.folds()?.any && !this.#reading.shown) return this.#host.reload() // lines may be left out at the cursor
    this.#show()
    const { shown } = this.#reading
    if (!shown) return this.written()
    const seeker = await this.#reading.seeker() // which shows the Window again
    await seeker.show(shown.history, shown.last, this.#screen.xterm.buffer.active.viewportY)
  }

  // open shows the times of a new screen.
  open() {
    if (!this.#on) return
    this.#show()
    this.start(0)
  }

  close() {
    clearInterval(this.#timer)
    if (this.#screen.numbers) this.#screen.numbers.also = null
    this.#lines = this.#epoch = null
    this.#pane.replaceChildren()
    if (!this.#on) this.#pane.remove()
  }

  #show() {
    this.#hide()
    this.#parts.gutter.after(this.#pane)
    this.#lines = this.#screen.numbers.also = makeLines(this.#screen, this.#pane, number => this.#timeOf(number), () => this.#kind)
    this.#timer = setInterval(() => this.#epoch || this.#reading.shown ? this.#ask() : this.written(), pause)
  }

  // start says that the output at an offset is in the cursor's row. Nothing is known about the rows before.
  start(offset) { this.#begin(offset, offset, base) }

  // written says that all output so far is on the screen.
  written() {
    const mark = this.#live.end
    const { shown, moving } = this.#reading
    if (!this.#epoch && mark >= 0 && !shown && !moving && !this.#host.folds()?.any) this.#begin(0, mark, base)
  }

  // showWindow says that the screen shows a Window of the History, from a section that begins in the cursor's row.
  showWindow(history, first) {
    this.#begin(history.start, history.start, base + history.numberOf(first) - 1)
  }

  // begin begins an epoch: the cursor's line has a number.
  #begin(from, mark, number) {
    if (!this.#lines) return
    this.#epoch = new LineTimes(this.#host, from, mark)
    this.#lines.start(number)
    this.#ask()
  }

  // ask asks for the times of the lines after those that are known.
  async #ask() {
    const epoch = this.#epoch
    const answer = await epoch?.ask()
    if (!answer || epoch !== this.#epoch) return
    if (answer === 'lost') {
      this.#epoch = null // another one begins soon
      return this.#lines.forget()
    }
    if (epoch.none && this.#said !== this.#host.signal()) {
      const why = this.#host.row().agent ? 'the agent runs the command itself' : 'the program that shows them began later'
      this.#said = this.#host.signal()
      this.#host.say(`When the lines were written is not known: ${why}. The command began on ${full.format(epoch.started)}` +
        `${epoch.ended ? `, and ended on ${full.format(epoch.ended)}` : ''}.`, this.#said)
    }
    this.#hide()
    this.#lines.draw()
  }

  // hide hides the column of a command without times.
  #hide() { this.#pane.hidden = this.#screen.kind === 'pty' || !!this.#epoch?.none }

  // timeOf returns when a line was written, or null.
  #timeOf(number) {
    const epoch = this.#epoch, { end } = this.#live
    return epoch?.at(number - base, this.#reading.shown || end >= 0 && end <= epoch.end) ?? null
  }
}

// makeLines counts the lines of a screen like its Numbers, and shows their times.
function makeLines({ xterm, numbers }, pane, timeOf, kind) {
  const drawn = []
  /** @type {typeof import('./numbers.js').Numbers} */
  const Numbers = numbers.constructor // an import would load it again
  class Lines extends Numbers {
    draw() {
      if (numbers.held || numbers.also !== this) return // or others are shown since
      const inView = this.inView()
      while (pane.childElementCount > inView.length) pane.lastChild.remove()
      drawn.length = Math.min(drawn.length, inView.length)
      inView.forEach((number, i) => {
        const time = number ? timeOf(number) : null
        const key = time ? `${kind()} ${time.after} ${time.by}` : ''
        if (drawn[i] === key) return
        drawn[i] = key
        const shown = time ? timeElement(time, kind()) : element('div')
        shown.style.display = 'block'
        shown.style.height = '1lh'
        if (pane.children[i]) pane.children[i].replaceWith(shown)
        else pane.append(shown)
      })
    }
  }
  pane.replaceChildren()
  return new Lines(xterm, pane, () => {}, numbers.rows)
}

// timeElement shows a time that is known to a second or so, or otherwise the latest possible one.
function timeElement({ after, by, started }, kind) {
  const vague = by - after > exact
  const seconds = Math.round(by / 1000)
  const since = !seconds ? 'at the start' : `${elapsed(seconds)} after the start`
  const about = `${vague ? `Between ${clock(started + after)} and ` : ''}${full.format(started + by)}, ${since}`
  const shown = element('time', {
    textContent: (vague ? '≤' : '') + (kind === 'since' ? watch(seconds) : clock(started + by)), dateTime: new Date(started + by).toISOString(), title: about, 'aria-label': about,
  })
  shown.dataset.since = `${Math.floor(by / 1000)}`
  return shown
}

// watch formats seconds as a stopwatch does.
function watch(seconds) {
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60], hours = Math.floor(seconds / 3600)
  return (hours ? [hours, ...parts] : parts).map((n, at) => at ? `${n}`.padStart(2, '0') : n).join(':')
}

function elapsed(seconds) {
  const parts = [[Math.floor(seconds / 3600), 'h'], [Math.floor(seconds / 60) % 60, 'min'], [seconds % 60, 's']]
  return parts.filter(([count]) => count).map(([count, unit]) => `${count} ${unit}`).join(' ')
}
