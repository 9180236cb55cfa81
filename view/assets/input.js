// Whether the user types, and the size of a PTY, which the user who types decides.
import { fontSize, sizeOf } from './fit.js'
import { isForCommand, isToggle, listen } from './typing.js'

const readOnlyLabel = 'Output, for reading only. Control F finds. For screen readers, press Screen reader.'
const typingLabel = 'Terminal. Keys go to the command. Control Shift Enter, then Tab, leaves.'

export class Input {
  #parts
  #screen
  #reading
  #host
  #keys = null // a KeyBar, once the user can type
  #connection = { src: '', signal: null } // the current src, and the signal of its end
  #sending = null // resolves to what sends typed text to the current src, or to null if it cannot be loaded
  #resizer = null // of the current src, once it is loaded
  #size = null // the size of the PTY that this page has asked for, because its user types; others scale the PTY
  #font = 0 // the font size of the PTY then
  #typed = 0 // the number of the last row that accepted input
  #paused = false // the user has turned typing off, so that Tab leaves
  #tried = false // the connection has been open or has failed

  constructor(parts, screen, reading, host) {
    this.#parts = parts
    this.#screen = screen
    this.#reading = reading
    this.#host = host
    const { on } = host
    on(parts.screen, 'mousedown', () => this.#pause(false))
    on(parts.screen, 'focusin', () => {
      this.show()
      this.#decideSize()
    })
    on(parts.screen, 'focusout', () => this.#pause(false))
    on(parts.typing, 'click', () => screen.xterm?.focus())
    on(parts.screen, 'click', event => { if (event.target === parts.screen && this.typing) screen.xterm?.focus() }) // beside a smaller PTY
    let touched = 0
    on(parts.screen, 'touchstart', event => { touched = event.touches[0].clientY })
    on(parts.screen, 'touchmove', event => {
      const lines = Math.trunc((touched - event.touches[0].clientY) / 17)
      if (lines) reading.scroll(lines, () => screen.xterm?.scrollLines(lines))
      touched -= lines * 17
    })
  }

  // open listens to the keys of a new screen.
  open(xterm) {
    xterm.attachCustomKeyEventHandler(event => this.#onKey(event))
    xterm.attachCustomWheelEventHandler(event => {
      this.#reading.scroll(event.deltaY, () => {})
      return xterm.buffer.active.type === 'normal' // otherwise the pane scrolls
    })
    listen(xterm, { typing: () => this.typing, onText: text => this.#type(this.#keys?.apply(text) ?? text) })
  }

  // connect sends what is typed to a src, until the signal.
  connect(src, signal) {
    this.#connection = { src, signal }
    this.#sending = this.#resizer = null
  }

  // sender resolves to a function that sends a text, or to null. What has called it first goes on first.
  #sender() { return this.#sending ??= this.#loadSender(this.#connection) }

  async #loadSender({ src, signal }) {
    const { resizer, sender } = await this.#host.load(signal) ?? {}
    if (signal.aborted) return null
    if (!sender) return this.#sending = null
    this.#resizer = resizer(`${src}/size`, signal)
    return sender(`${src}/input`, { signal, onProblem: text => this.#host.say(text, signal) })
  }

  // clear removes what belongs to a command.
  clear() {
    this.#parts.typing.hidden = true
    this.#keys?.show(false)
    this.#tried = this.#paused = false
    this.#size = null
    this.#typed = 0
  }

  // try says that a connection has been open or has failed.
  try() {
    this.#tried = true
    this.show()
  }

  // keepSize asks again for the size of the pane, if the user types here. It returns the font size then, or else 0.
  keepSize() {
    if (this.#size) this.#askSize()
    this.#parts.screen.classList.toggle('fills', !!this.#size)
    return this.#size ? this.#font : 0
  }

  // resized says that the PTY has another size.
  resized(row) {
    const { columns, rows } = row
    const mine = this.#resizer?.decided(row) || columns === this.#size?.columns && rows === this.#size.rows
    this.#size = mine ? this.#size ?? { columns, rows } : null // null if another viewer types
    this.#screen.fit()
  }

  // typing means that keys go to the command, if the screen has the focus.
  get typing() {
    return this.#host.online() && !!this.#host.row()?.input && !this.#paused
  }

  // takesKeys means that keys go to the command now.
  get takesKeys() { return this.typing && this.#parts.screen.contains(this.#parts.box.getRootNode().activeElement) }

  // type sends a text to the command.
  async #type(text) {
    if (!this.#size) this.#decideSize()
    this.#screen.xterm.scrollToBottom()
    const send = await this.#sender()
    send?.(text)
  }

  // decideSize makes the PTY as large as this pane, because the user types here. Its text does not get smaller.
  #decideSize() {
    if (!this.typing) return
    if (!this.#size) this.#font = Math.max(fontSize(), this.#screen.xterm.options.fontSize)
    this.#askSize()
    this.#screen.fit()
  }

  // askSize asks for the size of this pane.
  #askSize() {
    this.#font ||= fontSize()
    const size = this.typing && sizeOf(this.#screen.xterm, this.#parts.screen, this.#font)
    if (!size) return
    const { columns, rows } = this.#size ?? this.#host.row()
    if (size.columns !== columns || size.rows !== rows) this.#sender().then(() => this.#resizer?.ask(size))
    this.#size = size
  }

  // onKey reports whether xterm.js translates a key for the command. Without typing, keys scroll and Tab moves the
  // focus.
  #onKey(event) {
    const down = event.type === 'keydown'
    if (isToggle(event) && this.#host.row()?.input) {
      event.preventDefault()
      if (down && !event.repeat) this.#pause(!this.#paused)
      return false
    }
    if (this.typing) return isForCommand(event, this.#screen.xterm.hasSelection())
    if (!down) return false
    const xterm = this.#screen.xterm
    const [by, scroll] = {
      ArrowUp: [-1, () => xterm.scrollLines(-1)], ArrowDown: [1, () => xterm.scrollLines(1)],
      PageUp: [-1, () => xterm.scrollPages(-1)], PageDown: [1, () => xterm.scrollPages(1)],
      Home: [-1, () => xterm.scrollToTop()], End: [1, () => xterm.scrollToBottom()],
    }[event.key] ?? []
    if (scroll && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      this.#reading.scroll(by, scroll)
    }
    return false
  }

  async #showKeys() {
    const { KeyBar } = this.#keys ? {} : await this.#host.load(this.#host.signal()) ?? {}
    if (KeyBar) {
      this.#keys ??= new KeyBar(this.#parts.typing, {
        onKey: text => { if (this.typing) this.#type(text) },
        application: () => this.#screen.xterm.modes.applicationCursorKeysMode,
      })
    }
    this.#keys?.show(this.typing)
  }

  #pause(paused) {
    this.#paused = paused
    this.show()
  }

  // show shows whether the user can type, and how to leave.
  show() {
    const p = this.#parts
    const textarea = this.#screen.xterm?.textarea
    if (!textarea) return
    const row = this.#host.row()
    if (row?.input) this.#typed = row.number
    const focused = p.box.getRootNode().activeElement === textarea
    const [text, label] =
      row && !row.input ? ['Typing is off: the command has ended.', readOnlyLabel]
      : !this.#host.online() ? ['Typing is off: the connection is lost.', readOnlyLabel]
      : this.#paused ? ['Typing is off. Tab moves on, Ctrl+Shift+Enter turns it on.', readOnlyLabel]
      : [!focused ? 'Type here' : matchMedia('(pointer: coarse)').matches ? 'Typing' : 'Typing. Ctrl+Shift+Enter, then Tab, leaves.', typingLabel]
    const could = !!row && this.#typed === row.number
    textarea.readOnly = !this.typing
    if (this.#keys || this.typing) this.#showKeys()
    textarea.setAttribute('aria-label', could ? label : readOnlyLabel)
    p.typing.hidden = !could || !this.#tried
    p.typing.classList.toggle('on', this.typing)
    if (p.typing.textContent !== text) p.typing.textContent = text
  }
}
