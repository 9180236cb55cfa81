// Which part of the output is on the screen. A Seeker, which is loaded on first use, shows other parts.
import { scrollback } from './screen.js'

export class Reading {
  shown = null // the Window of the History shown instead of the live output
  moving = false // the window is being changed
  reads = false // the focus goes to the linked line, for screen readers
  keeps = false // the screen stays where it is while output is written again
  gap = false // retained output was not written to the screen
  #parts
  #screen
  #host
  #seeker = null

  constructor(parts, screen, host) {
    this.#parts = parts
    this.#screen = screen
    this.#host = host
    const { on } = host
    on(parts.earlier, 'click', () => this.earlier())
    on(parts.later, 'click', () => this.later())
    on(parts.toEnd, 'click', () => {
      this.toEnd()
      screen.focus()
    })
    on(parts.firstError, 'click', () => host.errors()?.count ? host.errors().toggle() : this.#seek('toFirstError'))
  }

  // close forgets the output.
  close() {
    this.#seeker = this.shown = null
    this.gap = this.moving = false
    this.#parts.cut.hidden = true
  }

  // forget forgets the output that was read, because it was replaced.
  forget() { this.#seeker = null }

  // partial means that some retained output is not on the screen.
  get partial() {
    if (!this.#screen.xterm || this.#screen.kind === 'pty') return false
    return !!this.shown || this.gap || this.#screen.full
  }

  // seeker resolves to the Seeker of the output.
  seeker() {
    return this.#host.load(this.#host.signal()).then(later => {
      if (!later) throw new TypeError('not loaded')
      return this.#seeker ??= new later.Seeker(this.#screen, this, this.#host)
    })
  }

  // seek calls a method of the Seeker, or says that this cannot be loaded.
  async #seek(method) {
    const signal = this.#host.signal()
    if (signal && await this.#host.load(signal) && !signal.aborted) await (await this.seeker())[method]()
  }

  // showLine shows the line of the attribute.
  async showLine() {
    if (this.#host.line()) await this.#seek('showLine')
    else this.#screen.unmark()
  }

  // earlier shows the output before the screen's.
  async earlier() {
    if (this.partial && !this.moving && this.shown?.first !== 0) await this.#seek('earlier')
  }

  // later shows the output after the screen's, and finally the live output.
  async later() {
    if (this.shown && !this.moving) await this.#seek('later')
  }

  toEnd() {
    if (this.shown) this.#host.connect()
    else this.#screen.xterm?.scrollToBottom()
  }

  // showCut shows which part of the output is on the screen.
  showCut() {
    const p = this.#parts
    const pty = this.#screen.kind === 'pty'
    p.cut.hidden = pty ? !this.#screen.full : !this.partial
    p.later.hidden = !this.shown
    const whole = pty || this.shown?.first === 0
    if (whole && p.box.getRootNode().activeElement === p.earlier) p.later.focus()
    p.earlier.hidden = whole
    if (p.cut.hidden) return
    const some = n => n.toLocaleString('en')
    const first = this.#screen.numbers.of(0), last = this.#screen.numbers.last
    const total = this.shown ? this.shown.history.lines : last
    const text = pty ? `Only the last ${some(scrollback)} lines are here. “Open as text” has what is kept.`
      : first && last ? `Lines ${some(first)}–${some(last)} of ${some(total)}${this.#host.row()?.dropped ? ' kept' : ''}` : `The last ${some(scrollback)} lines`
    if (p.cutText.textContent !== text) p.cutText.textContent = text
  }

  // scroll scrolls. If the screen has no more output in this direction, it shows another part of the output.
  scroll(by, scroll) {
    this.#screen.leaveEnd()
    const { viewportY, baseY } = this.#screen.xterm.buffer.active
    if (by < 0 && viewportY === 0) this.earlier()
    else if (by > 0 && viewportY >= baseY) this.later()
    scroll()
  }
}
