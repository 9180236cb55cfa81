// <acp-terminal src="/<token>/terminals/<key>"> shows one terminal.
//
// Attributes: src; theme, "dark" or "light" (the default follows the system). Properties: row (the terminal's status,
// see row.go), text (the output on the screen and in its scrollback, without colours), missed (the number of skipped
// bytes), following, first (the text of the first events of src, if the page has it already). Methods: stop(), copy(),
// find(text), earlier(), later(), openFind(), name(row). Events: "status", with the row as its detail, after each
// change of the row. The default height is 24rem. The user can type while the screen has the focus and row.input is
// true.

import { Terminal } from './xterm/xterm.mjs'
import { Unicode11Addon } from './xterm/addon-unicode11.mjs'
import { follow } from './stream.js'
import { bytes, clock, commandOf, duration, element, outcome, ownerBadge, tone } from './text.js'
import { fit, fontSize, sizeOf } from './fit.js'
import { History } from './history.js'
import { textOf, textOfAll } from './lines.js'
import { linkOpener } from './links.js'
import { isForCommand, isToggle, listen, resizer, sender } from './typing.js'
import { KeyBar } from './keys.js'
import { makeInert } from './inert.js'
import { addSheets } from './sheets.js'
import { openStyled } from './styles.js'
import { themes, searchColors } from './themes.js'

// kinds are the options of xterm.js that differ between commands with and without a PTY.
const kinds = {
  pipe: { convertEol: true, cursorInactiveStyle: 'none', lineHeight: 1.15 }, // output of a pipe has no carriage returns
  pty: { convertEol: false, cursorInactiveStyle: 'outline', lineHeight: 1 },
}

const noOutput = 'No output.'
const redraws = /\r(?!\n|$)|\x1b\[\d*A/ // what a progress bar writes, which expects that its line does not wrap
const maxMatches = 1000 // counted by a search
const scrollback = 10000 // lines; each uses some kilobytes of memory, shown or not

const readOnlyLabel = 'Output, for reading only. Arrow and page keys scroll, Control F finds.'
const typingLabel = 'Terminal. Keys go to the command. Control Shift Enter, then Tab, leaves.'

const dark = matchMedia('(prefers-color-scheme: dark)')

class AcpTerminal extends HTMLElement {
  static observedAttributes = ['src', 'theme']

  row = null
  first = ''
  missed = 0
  #parts = null
  #xterm = null
  #search = null // loaded on first use
  #connection = null // an AbortController for the current src
  #clockOffset = 0 // the server's clock minus the browser's
  #ready = null // resolves when the styles are loaded and xterm.js is open
  #online = false // the connection is open
  #tried = false // the connection has been open or has failed
  #written = false // output has been written
  #send = null // sends typed text to the current src
  #wrapChosen = false // by the user, for all terminals
  #resizer = null // of the current src
  #size = null // the size of the PTY that this page has asked for, because its user types; others scale the PTY
  #named = null // the number of a row, and the name of its session
  #typed = 0 // the number of the last row that accepted input
  #stopProblem = '' // the reason why the last stop request had no effect
  #paused = false // the user has turned typing off, so that Tab leaves
  #gap = false // retained output was not written to the screen
  #history = null // { all, size }: a promise of the History, and the size of the output then; null if none was read
  #results = { resultIndex: -1, resultCount: 0 } // of the search
  #moving = false // the window is being changed
  #shown = null // the Window of the History shown instead of the live output

  get following() {
    const buffer = this.#xterm?.buffer.active
    return !buffer || !this.#shown && buffer.viewportY >= buffer.baseY
  }

  // partial means that some retained output is not on the screen.
  get #partial() {
    if (!this.#xterm || this.#kind === 'pty') return false
    return !!this.#shown || this.#gap || this.#full
  }

  // typing means that keys go to the command, if the screen has the focus.
  get #typing() {
    return this.#online && !!this.row?.input && !this.#paused
  }

  get #dark() {
    return this.getAttribute('theme') === 'dark' || this.getAttribute('theme') !== 'light' && dark.matches
  }

  get #kind() {
    return this.row?.pty ? 'pty' : 'pipe'
  }

  get text() {
    return this.#xterm ? textOfAll(this.#xterm) : ''
  }

  connectedCallback() {
    this.#ready = this.#open()
    this.#connect()
  }

  disconnectedCallback() {
    this.#connection?.abort()
    this.#connection = null
    this.#parts?.stopped.abort()
    this.#xterm?.dispose()
    this.#xterm = this.#parts = null
    this.shadowRoot.replaceChildren()
    this.shadowRoot.adoptedStyleSheets = []
  }

  attributeChangedCallback(name) {
    if (!this.isConnected || !this.#parts) return
    if (name === 'theme') this.#showTheme()
    else this.#connect()
  }

  // name shows the name that a session has in the list. The stream of an ended command does not tell a later one.
  name({ number, session }) {
    this.#named = { number, session }
    if (this.row?.number === number && this.row.session !== session) this.#showStatus(Date.now() + this.#clockOffset, this.row)
  }

  openFind() {
    if (this.#parts && !this.#parts.findButton.hidden) this.#toggleFind(true)
  }

  // stop asks the command to end. A second call before its end kills it.
  async stop() {
    if (!this.hasAttribute('src')) return
    const signal = this.#connection?.signal
    let problem = 'the connection is lost'
    try {
      const response = await fetch(`${this.getAttribute('src')}/stop`, { method: 'POST', headers: { 'Acp-Terminal': 'stop' } })
      problem = response.ok ? '' : (await response.text()).trim()
    } catch {} // no response
    if (signal?.aborted || !this.#parts) return
    this.#stopProblem = problem
    this.#showProblem()
  }

  // copy copies the selection, or else all retained output, to the clipboard.
  async copy() {
    const { signal } = this.#connection
    await this.#copy(this.#selected() || (this.#partial ? this.#read(signal).then(history => history.plain) : this.text))
  }

  async #copy(text) {
    const { signal } = this.#connection
    try {
      await copyText(text)
      this.#say('Copied', signal)
    } catch (error) {
      const lost = error.name === 'TypeError' // thrown by fetch
      this.#say(lost ? 'Not copied: the connection is lost.' : 'The browser does not allow copying', signal)
    }
  }

  // find selects the next or the previous match of a text in all retained output. It resolves to whether a match
  // exists.
  async find(text, backwards = false, incremental = false) {
    if (!this.#xterm) return false
    const { signal } = this.#connection
    if (!await this.#loadSearch(signal) || signal.aborted) return false
    let found = this.#findHere(text, backwards, incremental)
    if (!text || !this.#partial || this.#moving) return found.any
    const history = await this.#readOrSay(signal)
    if (!history) return found.any
    this.#showCount()
    if (found.further || found.any && incremental) return true
    if (!this.#shown) { // the screen has the end of the output
      this.#select(found.before)
      if (!await this.#show(history, Infinity)) return false
      found = this.#findHere(text, backwards, incremental)
      if (found.further) return true
    }
    const section = history.next(text, this.#shown, backwards || incremental)
    if (section === undefined) return found.any
    if (!await this.#show(history, section + 1)) return false
    const mark = this.#shown.marks.get(backwards ? section + 1 : section)
    this.#select(mark && { start: { x: 0, y: mark.line }, end: { x: 1, y: mark.line } })
    return this.#findHere(text, backwards, !backwards).any
  }

  // loadSearch loads the search, which few users need. It reports whether the screen of the signal has it.
  async #loadSearch(signal) {
    if (this.#search) return true
    try {
      const { SearchAddon } = await import('./xterm/addon-search.mjs')
      if (signal.aborted) return false
      if (this.#search) return true // loaded meanwhile
      this.#xterm.loadAddon(this.#search = new SearchAddon({ highlightLimit: maxMatches }))
    } catch {
      this.#say('Find cannot be loaded; the connection is lost.', signal)
      return false
    }
    this.#search.onDidChangeResults(results => {
      this.#results = results
      this.#showCount()
    })
    return true
  }

  // findHere searches only the screen. before is the previous selection. further means that the match is beyond it, in
  // the search direction.
  #findHere(text, backwards, incremental) {
    const options = { decorations: searchColors(this.#dark), incremental }
    const before = this.#xterm.getSelectionPosition()
    const any = backwards ? this.#search.findPrevious(text, options) : this.#search.findNext(text, options)
    const after = this.#xterm.getSelectionPosition()?.start
    const order = any && before ? after.y - before.start.y || after.x - before.start.x : 0
    return { any, before, further: any && (!before || (backwards ? order < 0 : order > 0)) }
  }

  // earlier shows the output before the screen's.
  async earlier() {
    if (!this.#partial || this.#moving || this.#shown?.first === 0) return
    const history = await this.#readOrSay(this.#connection.signal)
    if (history) await this.#show(history, this.#placeOf(history, 0).section + 1, 0)
  }

  // later shows the output after the screen's, and finally the live output.
  async later() {
    if (!this.#shown || this.#moving) return
    const { history, last } = this.#shown
    if (history.isLast(last)) this.#connect()
    else await this.#show(history, last + 2, this.#xterm.buffer.active.baseY)
  }

  #placeOf(history, row) {
    return this.#shown ? this.#shown.placeOf(row) : history.placeOf(this.#xterm, row)
  }

  // read returns all retained output.
  #read(signal) {
    if (this.#shown) return Promise.resolve(this.#shown.history)
    const size = this.row?.bytes
    if (this.#history?.size !== size) {
      const xterm = this.#makeTerminal(this.#xterm.cols)
      const all = History.read(`${this.getAttribute('src')}/text`, xterm, signal).finally(() => xterm.dispose())
      this.#history = { size, all }
      all.catch(() => { if (this.#history?.all === all) this.#history = null })
    }
    return this.#history.all
  }

  // readOrSay is like read, but if the connection is lost, it shows a note and returns null.
  async #readOrSay(signal) {
    try {
      const history = await this.#read(signal)
      return signal.aborted ? null : history
    } catch {
      this.#say('The rest of the output cannot be read; the connection is lost.', signal)
      return null
    }
  }

  // show shows the window that ends with a section. It keeps the selection, and puts the previous contents of the row
  // top at the top. It reports whether the window is shown: not while another one is being loaded, because the mouse
  // wheel asks for many at once.
  async #show(history, last, top) {
    if (this.#moving) return false
    const { signal } = this.#connection
    const xterm = this.#xterm
    const selection = xterm.getSelectionPosition()
    const [topPlace, selected] = [top, selection?.start.y].map(row => row >= 0 ? this.#placeOf(history, row) : null)
    this.#moving = true
    xterm.options.scrollback = 2 * scrollback // makes room for a whole window
    const shown = await history.show(xterm, last)
    if (signal.aborted) return false
    this.#moving = false
    this.#shown = shown
    if (topPlace) xterm.scrollToLine(shown.rowOf(xterm, topPlace) ?? 0)
    if (selection) this.#select(selection, shown.rowOf(xterm, selected) - selection.start.y)
    this.#showCut()
    return true
  }

  // select restores a selection, moved down by some rows. It clears the selection if that is not on the screen.
  #select(selection, by = 0) {
    if (!(selection?.start.y + by >= 0)) return this.#xterm.clearSelection()
    const { start, end } = selection
    this.#xterm.select(start.x, start.y + by, (end.y - start.y) * this.#xterm.cols + end.x - start.x)
  }

  // full means that the screen and its scrollback have no more room.
  get #full() {
    return this.#xterm.buffer.normal.length >= scrollback + this.#xterm.rows
  }

  // showCut shows which part of the output is on the screen.
  #showCut() {
    const p = this.#parts
    const pty = this.#kind === 'pty'
    p.cut.hidden = pty ? !this.#full : !this.#partial
    p.cutText.textContent = pty ? `Only the last ${scrollback.toLocaleString('en')} lines are here. Text has what is kept.`
      : this.#shown ? 'This is an earlier part of the output.' : 'This is the end of the output.'
    p.earlier.hidden = pty || this.#shown?.first === 0
    p.later.hidden = !this.#shown
  }

  #selected() {
    const selection = this.#xterm?.getSelectionPosition()
    return selection ? textOf(this.#xterm, selection) : ''
  }

  async #open() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    const p = this.#parts = build(root)
    p.keys = new KeyBar({
      onKey: text => { if (this.#typing) this.#type(text) },
      application: () => this.#xterm.modes.applicationCursorKeysMode,
    })
    p.box.insertBefore(p.keys.element, p.typing)
    const stopped = p.stopped = new AbortController()
    const on = (target, type, handler) => target.addEventListener(type, handler, { signal: stopped.signal })
    const styled = addSheets(root)
    p.sheets = [...root.adoptedStyleSheets]
    await styled
    if (stopped.signal.aborted) return

    const resized = new ResizeObserver(() => { this.#fit(); this.#showMore() })
    resized.observe(p.screen)
    stopped.signal.addEventListener('abort', () => resized.disconnect())
    on(p.screen, 'mousedown', () => this.#pause(false))
    on(p.screen, 'focusin', () => {
      this.#showTyping()
      this.#decideSize()
    })
    on(p.screen, 'focusout', () => this.#pause(false))
    on(p.typing, 'click', () => this.#xterm?.focus())
    let touched = 0
    on(p.screen, 'touchstart', event => { touched = event.touches[0].clientY })
    on(p.screen, 'touchmove', event => {
      const lines = Math.trunc((touched - event.touches[0].clientY) / 17)
      if (lines) this.#scroll(lines, () => this.#xterm?.scrollLines(lines))
      touched -= lines * 17
    })
    on(dark, 'change', () => this.#showTheme())
    on(p.earlier, 'click', () => this.earlier())
    on(p.later, 'click', () => this.later())
    on(p.toEnd, 'click', () => {
      if (this.#shown) this.#connect()
      else this.#xterm?.scrollToBottom()
      this.#xterm?.focus()
    })
    p.screen.addEventListener('copy', event => {
      if (!this.#xterm?.hasSelection()) return
      event.stopPropagation() // because the text from xterm.js has no tabs
      event.preventDefault()
      event.clipboardData.setData('text/plain', this.#selected())
      if (this.#typing) this.#xterm.clearSelection() // so that Control C interrupts again
    }, { capture: true, signal: stopped.signal })
    on(p.stop, 'click', () => this.stop())
    on(p.copy, 'click', () => this.copy())
    on(p.copyCommand, 'click', () => this.#copy(commandOf(this.row)))
    on(p.more, 'click', () => this.#showMore(!p.command.classList.contains('whole-command')))
    on(p.reader, 'click', () => {
      const pressed = p.reader.getAttribute('aria-pressed') !== 'true'
      p.reader.setAttribute('aria-pressed', pressed)
      if (this.#xterm) this.#xterm.options.screenReaderMode = pressed
    })
    on(p.full, 'click', () => {
      if (document.fullscreenElement === this) document.exitFullscreen()
      else this.requestFullscreen().catch(() => this.#say('The browser does not allow the full screen'))
    })
    on(this, 'fullscreenchange', () => {
      const full = document.fullscreenElement === this
      p.full.setAttribute('aria-pressed', full)
      if (full) navigator.keyboard?.lock?.(['Escape']).catch(() => {}) // for the command; a long press leaves
    })
    on(p.wrap, 'click', () => {
      this.#wrapChosen = true
      p.wrap.setAttribute('aria-pressed', p.wrap.getAttribute('aria-pressed') !== 'true')
      this.#fit()
    })
    on(p.findButton, 'click', () => this.#toggleFind(p.findBar.hidden))
    on(p.findText, 'input', () => this.find(p.findText.value, false, true))
    on(p.findText, 'keydown', event => {
      if (event.key === 'Enter') this.find(p.findText.value, event.shiftKey)
    })
    on(p.findNext, 'click', () => this.find(p.findText.value))
    on(p.findPrevious, 'click', () => this.find(p.findText.value, true))
    on(p.findClose, 'click', () => this.#toggleFind(false))
    on(root, 'keydown', event => {
      if (event.key === 'Escape' && !p.findBar.hidden) this.#toggleFind(false)
      else if (event.key === 'f' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        this.#toggleFind(true)
      }
    })
    const clock = setInterval(() => this.#showNumbers(), 200)
    stopped.signal.addEventListener('abort', () => clearInterval(clock))
  }

  #makeTerminal(cols) {
    const xterm = new Terminal({
      allowProposedApi: true, // for the search's decorations
      ...kinds.pipe, // until the row is known
      cols, rows: 24, disableStdin: true, // listen handles the user's input
      fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", "Liberation Mono", monospace', fontSize: fontSize(),
      linkHandler: null, logLevel: 'off', minimumContrastRatio: 4.5,
      screenReaderMode: this.#parts.reader.getAttribute('aria-pressed') === 'true',
      scrollback, theme: themes(this.#dark), windowOptions: {},
    })
    makeInert(xterm, () => this.#kind)
    xterm.loadAddon(new Unicode11Addon()) // for the widths of emoji
    xterm.unicode.activeVersion = '11'
    return xterm
  }

  // openScreen makes a new xterm.js for each src, because the old one may have queued output.
  #openScreen() {
    const p = this.#parts
    const xterm = this.#xterm = this.#makeTerminal(80)
    this.#search = null
    linkOpener(xterm, address => confirm(`Open this address, which a command has printed?\n\n${address}`))
    openStyled(xterm, p.screen, this.shadowRoot)
    xterm.attachCustomKeyEventHandler(event => this.#onKey(event))
    xterm.attachCustomWheelEventHandler(event => {
      this.#scroll(event.deltaY, () => {})
      return xterm.buffer.active.type === 'normal' // otherwise the pane scrolls
    })
    listen(xterm, { typing: () => this.#typing, onText: text => this.#type(p.keys.apply(text)) })
    xterm.onRender(() => { p.toEnd.hidden = this.following })
    this.#fit()
    this.#showTyping()
  }

  // showCount shows the number of matches on the screen and, if that is only a part, in all retained output.
  async #showCount() {
    const { findText, findCount } = this.#parts
    const { resultIndex, resultCount } = this.#results
    const some = count => count < maxMatches ? count.toLocaleString('en') : `${maxMatches} or more`
    let text = !findText.value ? '' : resultCount ? `${resultIndex + 1} of ${some(resultCount)}` : 'none'
    if (text && this.#partial) {
      text += ' here'
      const history = this.#history && await this.#history.all.catch(() => null)
      if (history && this.#parts) text += `, ${history.count(findText.value).toLocaleString('en')} in all`
    }
    findCount.textContent = text
  }

  // setKind sets up the screen for a command with or without a PTY.
  #setKind() {
    const { pty } = this.row
    Object.assign(this.#xterm.options, kinds[this.#kind], { fontSize: fontSize(), theme: themes(this.#dark, pty) })
    if (pty) this.#xterm.write('\x1b[?1047l') // shows the cursor, as xterm.js otherwise does on the first focus
    this.#parts.screen.classList.toggle('pty', !!pty)
    this.#fit()
  }

  // clear removes the contents for the current src.
  #clear() {
    const p = this.#parts
    if (this.shadowRoot.activeElement === p.stop) p.copy.focus()
    this.#xterm?.dispose()
    this.#xterm = this.#search = this.row = this.#history = this.#shown = null
    this.#gap = this.#moving = false
    this.missed = 0
    this.#stopProblem = ''
    this.shadowRoot.adoptedStyleSheets = p.sheets // without those of xterm.js
    for (const part of [p.message, p.command, p.state, p.owner, p.numbers, p.note, p.problem, p.findCount]) part.textContent = ''
    p.command.title = ''
    p.stop.hidden = p.toEnd.hidden = p.more.hidden = p.copyCommand.hidden = true
    p.screen.classList.remove('unused', 'pty')
    p.typing.hidden = true
    this.#online = this.#tried = this.#paused = this.#written = false
    if (!this.#wrapChosen) p.wrap.setAttribute('aria-pressed', 'true')
    this.#size = null
    p.keys.element.hidden = true
    p.cut.hidden = true
    p.whole.hidden = true
    this.#typed = 0
    delete p.box.dataset.tone
    delete this.dataset.state
  }

  #showTheme() {
    if (this.#xterm) this.#xterm.options.theme = themes(this.#dark, this.row?.pty)
  }

  #fit() {
    if (!this.#xterm?.element) return
    const { screen, wrap } = this.#parts
    if (this.#size) this.#askSize()
    screen.classList.toggle('fills', !!this.#size)
    const narrow = fit(this.#xterm, screen, this.row?.pty ? this.row : null, wrap.getAttribute('aria-pressed') === 'true')
    wrap.hidden = !narrow || screen.classList.contains('unused')
  }

  // type sends a text to the command.
  #type(text) {
    if (!this.#size) this.#decideSize()
    this.#xterm.scrollToBottom()
    this.#send(text)
  }

  // decideSize makes the PTY as large as this pane, because the user types here.
  #decideSize() {
    if (!this.#typing) return
    this.#askSize()
    this.#fit()
  }

  // askSize asks for the size of this pane.
  #askSize() {
    const size = this.#typing && sizeOf(this.#xterm, this.#parts.screen)
    if (!size) return
    const { columns, rows } = this.#size ?? this.row
    if (size.columns !== columns || size.rows !== rows) this.#resizer.ask(size)
    this.#size = size
  }

  // onKey reports whether xterm.js translates a key for the command. Without typing, keys scroll and Tab moves the
  // focus.
  #onKey(event) {
    const down = event.type === 'keydown'
    if (isToggle(event) && this.row?.input) {
      event.preventDefault()
      if (down && !event.repeat) this.#pause(!this.#paused)
      return false
    }
    if (this.#typing) return isForCommand(event, this.#xterm.hasSelection())
    if (!down) return false
    const xterm = this.#xterm
    const [by, scroll] = {
      ArrowUp: [-1, () => xterm.scrollLines(-1)], ArrowDown: [1, () => xterm.scrollLines(1)],
      PageUp: [-1, () => xterm.scrollPages(-1)], PageDown: [1, () => xterm.scrollPages(1)],
      Home: [-1, () => xterm.scrollToTop()], End: [1, () => xterm.scrollToBottom()],
    }[event.key] ?? []
    if (scroll && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      this.#scroll(by, scroll)
    }
    return false
  }

  // scroll scrolls. If the screen has no more output in this direction, it shows another part of the output.
  #scroll(by, scroll) {
    const { viewportY, baseY } = this.#xterm.buffer.active
    if (by < 0 && viewportY === 0) this.earlier()
    else if (by > 0 && viewportY >= baseY) this.later()
    scroll()
  }

  #pause(paused) {
    this.#paused = paused
    this.#showTyping()
  }

  // showTyping shows whether the user can type, and how to leave.
  #showTyping() {
    const p = this.#parts
    const textarea = this.#xterm?.textarea
    if (!p || !textarea) return
    const row = this.row
    if (row?.input) this.#typed = row.number
    const focused = this.shadowRoot.activeElement === textarea
    const [text, label] =
      row && !row.input ? ['Typing is off: the command has ended.', readOnlyLabel]
      : !this.#online ? ['Typing is off: the connection is lost.', readOnlyLabel]
      : this.#paused ? ['Typing is off. Tab moves on, Ctrl+Shift+Enter turns it on.', readOnlyLabel]
      : [focused ? 'Typing. Ctrl+Shift+Enter, then Tab, leaves.' : 'Type here', typingLabel]
    const could = !!row && this.#typed === row.number
    textarea.readOnly = !this.#typing
    p.keys.element.hidden = !this.#typing
    textarea.setAttribute('aria-label', could ? label : readOnlyLabel)
    p.typing.hidden = !could || !this.#tried
    p.typing.classList.toggle('on', this.#typing)
    if (p.typing.textContent !== text) p.typing.textContent = text
  }

  #toggleFind(show) {
    const p = this.#parts
    p.findBar.hidden = !show
    p.findButton.setAttribute('aria-expanded', show)
    if (show) {
      p.findText.select()
      p.findText.focus()
    } else {
      this.#search?.clearDecorations()
      p.findButton.focus()
    }
  }

  async #connect() {
    this.#connection?.abort()
    const { signal } = this.#connection = new AbortController()
    const focused = this.#parts.screen.contains(this.shadowRoot.activeElement)
    this.#clear()
    await this.#ready
    if (signal.aborted) return
    this.#openScreen()
    if (focused) this.#xterm.focus()
    if (!this.hasAttribute('src')) return
    const src = this.getAttribute('src')
    this.#parts.whole.href = `${src}/text`
    this.#resizer = resizer(`${src}/size`, signal)
    this.#send = sender(`${src}/input`, { signal, onProblem: text => this.#say(text, signal) })
    const { first } = this
    this.first = ''
    await follow(`${src}/output`, {
      signal, first,
      onEvent: event => {
        if (signal.aborted) return
        if (event.type !== 'status') return this.#write(event.data, signal)
        const { now, row, size } = event.data
        this.#showStatus(now, row ?? { ...this.row, ...size })
      },
      onConnection: (state, reason) => {
        if (signal.aborted) return
        this.#setOnline(state === 'open')
        if (state === 'gone' || state === 'forbidden' || state === 'impossible') this.#setUnknown()
        this.#say({
          lost: 'The connection is lost; trying again.', busy: 'Too many pages are open; waiting.',
          gone: 'This terminal is not kept any more.', forbidden: 'This address is not good any more.',
          impossible: `The terminal cannot be shown: ${reason}`,
        }[state] ?? '', signal)
      },
    })
    const p = this.#parts
    if (!signal.aborted && this.row && !this.row.bytes && !p.message.textContent && this.row.state !== 'denied') {
      p.message.textContent = noOutput
    }
  }

  // setOnline records whether the row is current. Without a connection, the clock stands still and Stop is disabled.
  #setOnline(online) {
    const p = this.#parts
    this.#online = online
    this.#tried = true
    if (online) delete p.box.dataset.offline
    else p.box.dataset.offline = ''
    p.stop.disabled = !online
    this.#showTyping()
  }

  // setUnknown removes the state of a command that can no longer be known, unless the command had ended.
  #setUnknown() {
    const p = this.#parts
    p.stop.hidden = true
    if (!this.row || this.row.ended) return
    this.row = { ...this.row, state: 'unknown', ended: Date.now() + this.#clockOffset }
    this.dataset.state = this.row.state
    p.box.dataset.tone = tone(this.row)
    p.state.textContent = outcome(this.row)
    this.#showNumbers()
  }

  // write waits until xterm.js has shown the output, so that the stream is read no faster.
  #write({ missed, text, replaced }, signal) {
    if (this.#shown || this.#moving) return // the live output is read again after the window
    if (replaced) {
      this.#xterm.reset() // nothing is queued, because each write is awaited
      this.#search?.clearDecorations()
      this.#parts.findCount.textContent = ''
      this.missed = 0
      text = `\x18\x1b\\${text}` // earlier output may end within an escape sequence
    }
    if (missed) {
      this.missed += missed
      // Earlier output may end within an escape sequence or a colour, so both are reset.
      const bol = this.#xterm.buffer.active.cursorX ? '\r\n' : ''
      const kept = this.#written || missed > (this.row?.dropped ?? 0) + 3
      const reason = this.#written ? 'the output was faster than this page'
        : kept ? 'Earlier has what is kept' : 'it is not kept'
      this.#gap ||= kept
      const note = `${bol}\x1b[7m ${bytes(missed)} not shown: ${reason}. \x1b[0m\r\n`
      text = `\x18\x1b\\\x1b[0m${this.row?.pty ? '' : note}${text}` // on a PTY the note would spoil the screen
    }
    this.#written = true
    if (!this.#wrapChosen && this.#kind === 'pipe' && redraws.test(text) && this.#parts.wrap.getAttribute('aria-pressed') === 'true') {
      this.#parts.wrap.setAttribute('aria-pressed', 'false')
      this.#fit()
    }
    const xterm = this.#xterm
    return new Promise(resolve => {
      signal.addEventListener('abort', resolve, { once: true })
      xterm.write(text, () => {
        signal.removeEventListener('abort', resolve)
        if (!signal.aborted) this.#showCut()
        resolve()
      })
    })
  }

  #showStatus(now, row) {
    const p = this.#parts
    const before = this.row
    this.#clockOffset = now - Date.now()
    if (this.#named?.number === row.number) row = { ...row, session: this.#named.session }
    this.row = row
    this.dataset.state = row.state
    if (before?.number !== row.number) this.#setKind()
    else if (before.columns !== row.columns || before.rows !== row.rows) {
      const mine = this.#resizer.asking || row.columns === this.#size?.columns && row.rows === this.#size.rows
      if (!mine) this.#size = null // another viewer types
      this.#fit()
    }
    p.box.dataset.tone = tone(row)
    if (p.command.textContent !== commandOf(row)) {
      p.command.textContent = commandOf(row)
      this.#showMore(false)
    }
    p.copyCommand.hidden = !row.command
    if (before?.number !== row.number) p.owner.replaceChildren(...ownerBadge(row))
    p.command.title = [row.program, row.pid && `process ${row.pid}`].filter(Boolean).join(', ')
    if (!before || outcome(before) !== outcome(row) || before.status !== row.status || before.survivors !== row.survivors) {
      p.state.textContent = stateText(row)
    }
    p.message.textContent = row.state === 'denied' || row.state === 'failed' ? notRun(row) : ''
    if (row.agent && row.ended && !row.bytes) p.message.textContent = noOutput // the stream continues until a release
    const unused = row.state === 'denied' || row.state === 'failed'
    p.screen.classList.toggle('unused', unused)
    p.whole.hidden = p.findButton.hidden = unused
    if (unused) p.wrap.hidden = true
    const focused = this.shadowRoot.activeElement === p.stop
    p.stop.hidden = !row.canStop
    p.stop.textContent = !row.stopping ? 'Stop' : row.agent ? 'Ask again' : 'Force stop'
    p.stop.title = row.agent ? 'Ask the agent to end the command' : ''
    this.#showProblem()
    if (focused && p.stop.hidden) p.copy.focus()
    this.#showNumbers()
    this.#showTyping()
    this.dispatchEvent(new CustomEvent('status', { detail: row }))
  }

  // showMore shows all of a long command, or its first lines.
  #showMore(whole = this.#parts.command.classList.contains('whole-command')) {
    const { command, more } = this.#parts
    more.setAttribute('aria-label', whole ? 'Less of the command' : 'More of the command')
    command.classList.toggle('whole-command', whole)
    more.hidden = !whole && command.scrollHeight <= command.clientHeight
  }

  #showProblem() {
    const reason = this.row?.stopError || this.#stopProblem
    const text = reason ? `Not stopped: ${reason}` : ''
    if (this.#parts.problem.textContent !== text) this.#parts.problem.textContent = text
  }

  #showNumbers() {
    const row = this.row
    if (!row) return
    if (!row.ended && !this.#online) return // it may have ended
    const ended = row.ended || Date.now() + this.#clockOffset
    const numbers = [row.dir, row.source, row.session].filter(Boolean)
    if (row.columns) numbers.push(`${row.columns} × ${row.rows}`)
    numbers.push(clock(row.started))
    if (row.state !== 'denied' && row.state !== 'failed') {
      numbers.push(duration(ended - row.started), bytes(row.bytes))
      if (row.pty && this.missed) numbers.push(`${bytes(this.missed)} not shown`)
      if (row.dropped) numbers.push(`${bytes(row.dropped)} dropped`)
    }
    const shown = this.#parts.numbers
    while (shown.childElementCount > numbers.length) shown.lastChild.remove()
    numbers.forEach((text, i) => {
      const item = shown.children[i] ?? shown.appendChild(element('li'))
      if (item.textContent !== text) item.textContent = text
    })
  }

  // say shows a note, unless src has changed since the signal.
  #say(text, signal) {
    if (signal?.aborted) return
    if (this.#parts && this.#parts.note.textContent !== text) this.#parts.note.textContent = text
  }
}

// stateText returns the text for screen readers.
function stateText(row) {
  let text = outcome(row)
  if (['killed', 'timed out', 'connection lost'].includes(row.state)) text += row.status ? `, ${row.status}` : ''
  if (row.survivors) text += `; still running: ${row.survivors}`
  return text
}

// copyText puts text, or the text of a promise, on the clipboard. Some browsers allow it only before the first await.
function copyText(text) {
  if (typeof text === 'string') return navigator.clipboard.writeText(text)
  const blob = text.then(text => new Blob([text], { type: 'text/plain' }))
  return navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })])
}

function notRun(row) {
  const start = row.state === 'denied' ? 'This command was denied and did not run.' : 'This command could not be started.'
  return [start, row.status, row.rule && `Rule: ${row.rule}`].filter(Boolean).join('\n')
}

// build creates the element's children.
function build(root) {
  const p = {}
  const button = (text, properties) => element('button', { type: 'button', textContent: text, ...properties })
  p.state = element('span', { class: 'state', role: 'status', 'aria-live': 'polite' })
  p.command = element('code', { class: 'command', role: 'heading', 'aria-level': '2' })
  p.more = button('', { class: 'more', hidden: true })
  p.copyCommand = button('', { class: 'copy-command', 'aria-label': 'Copy the command', title: 'Copy the command' })
  p.numbers = element('ul', { class: 'numbers', 'aria-label': 'About this command' })
  p.owner = element('span', { class: 'owner' })
  p.note = element('p', { class: 'note', role: 'status' })
  p.problem = element('p', { class: 'note problem', role: 'alert' })
  p.reader = button('Screen reader', { class: 'reader', 'aria-pressed': 'false', title: 'Make the output readable for screen readers' })
  p.findButton = button('Find', { 'aria-expanded': 'false', 'aria-controls': 'find' })
  p.wrap = button('Wrap', { class: 'wrap', 'aria-pressed': 'true', hidden: true, title: 'Wrap long lines to the width of the window' })
  p.full = button('', { class: 'full', 'aria-label': 'Full screen', 'aria-pressed': 'false', title: 'Full screen', hidden: !document.fullscreenEnabled })
  p.copy = button('Copy')
  p.whole = element('a', { class: 'whole', textContent: 'Text', target: '_blank', rel: 'noopener', title: 'The whole output as plain text' })
  p.cutText = element('span')
  p.earlier = button('Earlier', { class: 'earlier', title: 'Show the output before this' })
  p.later = button('Later', { class: 'later', title: 'Show the output after this' })
  p.cut = element('p', { class: 'cut', role: 'status', hidden: true }, p.cutText, p.earlier, p.later)
  p.stop = button('Stop', { class: 'stop', hidden: true })
  p.findText = element('input', { type: 'search', 'aria-label': 'Find in the output', placeholder: 'Find', spellcheck: false, autocomplete: 'off' })
  p.findCount = element('span', { class: 'count', role: 'status' })
  p.findPrevious = button('↑', { 'aria-label': 'Previous' })
  p.findNext = button('↓', { 'aria-label': 'Next' })
  p.findClose = button('✕', { 'aria-label': 'Close' })
  p.findBar = element('div', { class: 'find', id: 'find', role: 'search', hidden: true },
    p.findText, p.findCount, p.findPrevious, p.findNext, p.findClose)
  p.screen = element('div', { class: 'screen' })
  p.message = element('p', { class: 'message' })
  p.toEnd = button('↓ Follow', { class: 'to-end', hidden: true, title: 'Go to the end and follow the output' })
  p.typing = element('p', { class: 'typing', role: 'status', hidden: true })
  p.box = element('section', { class: 'box', 'aria-label': 'Terminal' },
    element('header', {},
      element('div', { class: 'title' }, p.state, p.owner, p.command, p.more, p.copyCommand),
      element('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Terminal' }, p.reader, p.findButton, p.wrap, p.copy, p.whole, p.full, p.stop),
      p.numbers, p.cut, p.note, p.problem),
    p.findBar,
    element('div', { class: 'body' }, p.screen, p.message, p.toEnd),
    p.typing)
  root.replaceChildren(p.box)
  return p
}

// The page may have loaded the element from another view already. That element also shows the terminals of this view.
if (!customElements.get('acp-terminal')) customElements.define('acp-terminal', AcpTerminal)
