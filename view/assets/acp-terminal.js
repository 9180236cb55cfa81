// <acp-terminal src="/<token>/terminals/<key>"> shows one terminal.
//
// Attributes: src; line, the number of a line to show; theme, "dark" or "light" (the default follows the system).
// Properties: row (the terminal's status, see row.go), text (the output on the screen and in its scrollback, without
// colours), missed (the number of skipped bytes), following, first (the text of the first events of src, if the page has
// it already). Methods: stop(), copy(), find(text), earlier(), later(), openFind(), name(row). The default height is
// 24rem. The user can type while the screen has the focus and row.input is true.
//
// Events: "status", with the row as its detail, after each change of the row; "line", with a number, after a click on
// the number of a line; "connection", with "open", "lost" or "busy". A page that cancels the last shows the loss itself.

import { Terminal } from './xterm/xterm.mjs'
import { follow } from './stream.js'
import { bytes, clock, commandOf, duration, element, kindOf, outcome, ownerBadge, tone } from './text.js'
import { fit, fontSize, sizeOf } from './fit.js'
import { cut, linesOf, markerAt, textOf, textOfAll } from './lines.js'
import { KeyBar } from './keys.js'
import { linkOpener } from './links.js'
import { mayMark } from './marks.js'
import { menuOf } from './menu.js'
import { Numbers } from './numbers.js'
import { isForCommand, isToggle, listen, resizer, sender } from './typing.js'
import { makeInert } from './inert.js'
import { addSheets } from './sheets.js'
import { openStyled } from './styles.js'
import { themes, searchColors } from './themes.js'

// kinds are the options of xterm.js that differ between commands with and without a PTY.
const kinds = {
  pipe: { convertEol: true, cursorInactiveStyle: 'none', lineHeight: 1.15 }, // output of a pipe has no carriage returns
  pty: { convertEol: false, cursorInactiveStyle: 'outline', lineHeight: 1 },
}

// mayBeWide matches characters whose width differs between versions of Unicode, and others, but no frames or arrows.
const mayBeWide = /[\u1100-\u1fff\u2300-\u24ff\u2580-\uffff]/

const noOutput = 'No output.'
const redraws = /\r(?!\n|$)|\x1b\[\d*A/ // what a progress bar writes, which expects that its line does not wrap
const scrollback = 10000 // lines; each uses some kilobytes of memory, shown or not

const readOnlyLabel = 'Output, for reading only. Arrow and page keys scroll, Control F finds.'
const typingLabel = 'Terminal. Keys go to the command. Control Shift Enter, then Tab, leaves.'

const dark = matchMedia('(prefers-color-scheme: dark)')

class AcpTerminal extends HTMLElement {
  static observedAttributes = ['src', 'theme', 'line']

  row = null
  first = ''
  missed = 0
  #parts = null
  #xterm = null
  #finder = null // loaded on first use
  #connection = null // an AbortController for the current src
  #clockOffset = 0 // the server's clock minus the browser's
  #ready = null // resolves when the styles are loaded and xterm.js is open
  #online = false // the connection is open
  #tried = false // the connection has been open or has failed
  #written = false // output has been written
  #visible = false // the screen has been fitted to its pane
  #leaveEnd = () => {} // lets a screen that has appeared scroll
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
  #numbers = null // of the lines
  #groups = null // divides the output into groups, once it has marks of them
  #atStart = true // of a line
  #widths = null // the add-on with the widths of emoji, once the output has some
  #folded = new Set() // groups that are folded, by id
  #decided = new Set() // groups whose first fold is decided, by id
  #headings = [] // { marker, id }: the rows of the groups' headings
  #marked = null // the decoration of the line that was jumped to
  #loaded = Promise.withResolvers() // resolves when the screen has the output that existed at first
  #toLoad = 0 // bytes of that output
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

  // asWritten means that the screen has all retained output as the command wrote it.
  get #asWritten() { return !this.#partial && !this.#groups?.any }

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
    this.#leaveEnd()
    this.#finder?.dispose()
    this.#xterm?.dispose()
    this.#xterm = this.#parts = this.#finder = this.#numbers = null
    this.shadowRoot.replaceChildren()
    this.shadowRoot.adoptedStyleSheets = []
  }

  attributeChangedCallback(name) {
    if (!this.isConnected || !this.#parts) return
    if (name === 'theme') this.#showTheme()
    else if (name === 'line') this.#loaded.promise.then(() => this.#showLine())
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
    const selected = this.#selected()
    if (!selected && !this.row?.bytes) return this.#say('There is no output to copy.', signal)
    await this.#copy(selected || (this.#asWritten ? this.text : this.#read(signal).then(history => history.plain)), 'the output')
  }

  async #copy(text, what) {
    const { signal } = this.#connection
    if (!text) return this.#say(`There is nothing to copy: ${what} is empty.`, signal)
    try {
      await copyText(text)
      this.#say(`Copied ${what}`, signal)
    } catch (error) {
      const lost = error.name === 'TypeError' // thrown by fetch
      this.#say(lost ? 'Not copied: the connection is lost.' : 'The browser does not allow copying', signal)
    }
  }

  // find marks the next or the previous match of a text in all retained output, and shows it. incremental begins with
  // the current match. It resolves to whether a match exists.
  async find(text, backwards = false, incremental = false) {
    if (!this.#xterm) return false
    if (text) await this.#unfold()
    this.#leaveEnd()
    const { signal } = this.#connection
    const finder = await this.#loadFinder(signal)
    return !!finder && finder.find(text, backwards, incremental)
  }

  // loadFinder returns the finder of the screen, or null if that has changed.
  async #loadFinder(signal) {
    const { Finder } = await this.#loadLater(signal) ?? {}
    if (!Finder || signal.aborted || !this.#xterm) return null
    return this.#finder ??= new Finder(this.#xterm, () => searchColors(this.#dark), this.#parts, {
      partial: () => this.#partial && !this.#moving, shown: () => this.#shown,
      read: () => this.#readOrSay(signal), show: (history, last) => this.#show(history, last),
    })
  }

  // loadLater loads what a page needs only when the user asks for it.
  async #loadLater(signal) {
    try {
      return await import('./later.js')
    } catch {
      this.#say('A file of this page cannot be loaded; the connection is lost.', signal)
      return null
    }
  }

  // toFirstError shows the first line that tells of an error.
  async #toFirstError() {
    await this.#unfold()
    const { signal } = this.#connection
    await this.#loaded.promise
    if (signal.aborted) return
    const { isError } = await this.#loadLater(signal) ?? {}
    if (!isError || signal.aborted) return
    if (this.#partial) {
      const history = await this.#readOrSay(signal)
      if (!history) return
      const place = history.firstLine(isError)
      if (place) return this.#showPlace(history, place)
    } else {
      const line = linesOf(this.#xterm).find(({ text }) => isError(text))
      if (line) return this.#reveal(line.row)
    }
    this.#toEnd()
    this.#say('No line tells of an error; this is the end.', signal)
  }

  // showLine shows the line of the attribute.
  async #showLine() {
    const number = Number(this.getAttribute('line'))
    const { signal } = this.#connection ?? {}
    if (!number || !this.#xterm || this.#kind === 'pty') return this.#unmark()
    await this.#unfold()
    if (signal.aborted) return
    const row = this.#numbers.rowOf(number)
    if (row >= 0) return this.#reveal(row)
    const history = this.#partial && await this.#readOrSay(signal)
    const place = history && history.placeOfLine(number)
    if (place) return this.#showPlace(history, place)
    if (!signal.aborted) this.#say(`There is no line ${number}.`, signal)
  }

  async #showPlace(history, place) {
    if (!await this.#show(history, place.section + 1)) return
    this.#reveal(this.#shown.rowOf(this.#xterm, place))
  }

  // reveal scrolls to the line that begins in a row, and marks it.
  #reveal(row) {
    const xterm = this.#xterm
    this.#leaveEnd()
    let last = row
    while (xterm.buffer.active.getLine(last + 1)?.isWrapped) last++
    this.#unmark()
    const marker = markerAt(xterm, row)
    const mark = marker && xterm.registerDecoration({ marker, width: xterm.cols, height: last - row + 1 })
    mark?.onRender(shown => shown.classList.add('marked'))
    this.#marked = mark
    xterm.scrollToLine(Math.max(0, row - Math.floor(xterm.rows / 3)))
  }

  #unmark() {
    this.#marked?.dispose()
    this.#marked = null
  }

  #showToEnd() { this.#parts.toEnd.classList.toggle('off', this.following) }

  #toEnd() {
    if (this.#shown) this.#connect()
    else this.#xterm?.scrollToBottom()
  }

  // fold folds or unfolds a group, and reads the output again. The group's heading stays where it is.
  async #fold(id) {
    const { viewportY } = this.#xterm.buffer.active
    const before = this.#headings.find(heading => heading.id === id).marker.line - viewportY
    if (!this.#folded.delete(id)) this.#folded.add(id)
    await this.#reload()
    const heading = this.#headings.find(heading => heading.id === id)
    if (heading?.marker.line >= 0) this.#xterm.scrollToLine(heading.marker.line - before)
  }

  // foldAll folds all groups, or unfolds them if some are folded.
  async #foldAll() {
    if (this.#folded.size) this.#folded.clear()
    else for (const { id } of this.#headings) this.#folded.add(id)
    await this.#reload()
  }

  async #unfold() {
    if (!this.#folded.size) return
    this.#folded.clear()
    await this.#reload()
  }

  async #reload() {
    this.#connect(true)
    await this.#loaded.promise
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
      const first = this.row?.dropped ? 0 : 1 // the text begins with a note about what is dropped
      const all = import('./later.js').then(
        ({ History }) => History.read(`${this.getAttribute('src')}/text`, xterm, signal, first)).finally(() => xterm.dispose())
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
    this.#unmark()
    this.#headings = []
    this.#numbers.start(history.numberOf(shown.first), shown.marks.get(shown.first).line)
    this.#finder?.rescan()
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
    p.earlier.hidden = pty || this.#shown?.first === 0
    p.later.hidden = !this.#shown
    if (p.cut.hidden) return
    const some = n => n.toLocaleString('en')
    const first = this.#numbers.of(0), last = this.#numbers.last
    const total = this.#shown ? this.#shown.history.lines : last
    const text = pty ? `Only the last ${some(scrollback)} lines are here. “Open as text” has what is kept.`
      : first && last ? `Lines ${some(first)}–${some(last)} of ${some(total)}` : `The last ${some(scrollback)} lines`
    if (p.cutText.textContent !== text) p.cutText.textContent = text
  }

  #selected() {
    const selection = this.#xterm?.getSelectionPosition()
    return selection ? textOf(this.#xterm, selection) : ''
  }

  async #open() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    const p = this.#parts = build(root, () => this.#onMenu())
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
    for (const type of ['wheel', 'touchstart', 'pointerdown'])
      p.screen.addEventListener(type, () => this.#leaveEnd(), { capture: true, passive: true, signal: stopped.signal })
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
      this.#toEnd()
      this.#xterm?.focus()
    })
    on(p.firstError, 'click', () => this.#toFirstError())
    on(p.copyLink, 'click', () => this.#copy(this.#link(), 'the link'))
    on(p.foldAll, 'click', () => this.#foldAll())
    p.screen.addEventListener('copy', event => {
      if (!this.#xterm?.hasSelection()) return
      event.stopPropagation() // because the text from xterm.js has no tabs
      event.preventDefault()
      event.clipboardData.setData('text/plain', this.#selected())
      if (this.#typing) this.#xterm.clearSelection() // so that Control C interrupts again
    }, { capture: true, signal: stopped.signal })
    on(p.stop, 'click', () => this.stop())
    on(p.copyOutput, 'click', () => { if (p.copyOutput.getAttribute('aria-disabled') !== 'true') this.copy() })
    on(p.copyCommand, 'click', () => this.#copy(this.row.command, 'the command'))
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
      const choice = event.altKey && !event.ctrlKey && { KeyC: p.findCase, KeyW: p.findWord, KeyR: p.findRegex }[event.code]
      if (!choice) return
      event.preventDefault()
      choice.click()
    })
    for (const choice of [p.findCase, p.findWord, p.findRegex]) on(choice, 'click', () => {
      choice.setAttribute('aria-pressed', choice.getAttribute('aria-pressed') !== 'true')
      this.find(p.findText.value, false, true)
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
      allowProposedApi: true, // for decorations
      ...kinds.pipe, // until the row is known
      cols, rows: 24, disableStdin: true, // listen handles the user's input
      fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", "Liberation Mono", monospace', fontSize: fontSize(),
      linkHandler: null, logLevel: 'off', minimumContrastRatio: 4.5,
      screenReaderMode: this.#parts.reader.getAttribute('aria-pressed') === 'true',
      scrollback, theme: themes(this.#dark), windowOptions: {},
    })
    makeInert(xterm, () => this.#kind)
    if (this.#widths) this.#setWidths(xterm)
    return xterm
  }

  #setWidths(xterm) {
    xterm.loadAddon(new this.#widths())
    xterm.unicode.activeVersion = '11'
  }

  // openScreen makes a new xterm.js for each src, because the old one may have queued output.
  #openScreen() {
    const p = this.#parts
    const xterm = this.#xterm = this.#makeTerminal(80)
    linkOpener(xterm, address => confirm(`Open this address, which a command has printed?\n\n${address}`))
    openStyled(xterm, p.screen, this.shadowRoot)
    xterm.attachCustomKeyEventHandler(event => this.#onKey(event))
    xterm.attachCustomWheelEventHandler(event => {
      this.#scroll(event.deltaY, () => {})
      return xterm.buffer.active.type === 'normal' // otherwise the pane scrolls
    })
    listen(xterm, { typing: () => this.#typing, onText: text => this.#type(p.keys.apply(text)) })
    xterm.onRender(() => this.#showToEnd())
    this.#numbers = new Numbers(xterm, p.gutter, number => {
      this.setAttribute('line', number)
      this.dispatchEvent(new CustomEvent('line', { detail: number }))
    })
    this.#groups = null
    xterm.registerLinkProvider({ provideLinks: (y, callback) => callback(this.#headingAt(y - 1)) })
    if (this.row) this.#setKind()
    this.#numbers.start(1)
    this.#fit()
    this.#showTyping()
  }

  // headingAt returns the links of a row: a group's heading is one, which folds the group.
  #headingAt(row) {
    const heading = this.#headings.find(({ marker }) => marker.line === row)
    const length = heading && this.#xterm.buffer.active.getLine(row).translateToString(true).length
    return heading && [{
      text: heading.id, range: { start: { x: 1, y: row + 1 }, end: { x: Math.max(1, length), y: row + 1 } },
      activate: () => this.#fold(heading.id), decorations: { underline: false, pointerCursor: true },
    }]
  }

  // onMenu prepares the menu.
  #onMenu() {
    const p = this.#parts
    p.copyOutput.textContent = this.#selected() ? 'Copy selection' : 'Copy output'
    p.copyOutput.setAttribute('aria-disabled', !this.row?.bytes)
    p.foldAll.hidden = !this.#groups?.any || !!this.#shown
    p.foldAll.textContent = this.#folded.size ? 'Unfold groups' : 'Fold groups'
  }

  // link returns the address of the terminal's own page, at the marked line.
  #link() {
    const line = this.#marked && this.#numbers.of(this.#marked.marker.line)
    return new URL(this.getAttribute('src') + (line ? `#L${line}` : ''), location.href).href
  }

  // setKind sets up the screen for a command with or without a PTY.
  #setKind() {
    const { pty } = this.row
    Object.assign(this.#xterm.options, kinds[this.#kind], { fontSize: fontSize(), theme: themes(this.#dark, pty) })
    if (pty) this.#xterm.write('\x1b[?1047l') // shows the cursor, as xterm.js otherwise does on the first focus
    this.#parts.screen.classList.toggle('pty', !!pty)
    this.#parts.gutter.hidden = !!pty
    this.#fit()
  }

  // clear removes the contents for the current src.
  #clear() {
    const p = this.#parts
    if (this.shadowRoot.activeElement === p.stop) p.copy.focus()
    this.row = null
    this.#folded.clear()
    this.#decided.clear()
    this.#stopProblem = ''
    for (const part of [p.message, p.command, p.state, p.owner, p.numbers, p.note, p.problem, p.findCount]) part.textContent = ''
    p.command.title = ''
    p.stop.hidden = p.more.hidden = p.copyCommand.hidden = p.firstError.hidden = true
    p.screen.classList.remove('unused', 'pty')
    p.gutter.hidden = false
    p.typing.hidden = true
    this.#online = this.#tried = this.#paused = false
    if (!this.#wrapChosen) p.wrap.setAttribute('aria-pressed', 'true')
    this.#size = null
    p.keys.element.hidden = true
    p.whole.hidden = true
    this.#typed = 0
    delete p.box.dataset.tone
    delete this.dataset.state
  }

  // clearScreen removes the screen, which may have queued output.
  #clearScreen() {
    const p = this.#parts
    this.#leaveEnd()
    this.#unmark()
    this.#finder?.dispose()
    this.#xterm?.dispose()
    this.#xterm = this.#finder = this.#numbers = this.#history = this.#shown = null
    this.#headings = []
    this.#gap = this.#moving = this.#written = this.#visible = false
    this.#atStart = true
    this.#groups = null
    this.missed = this.#toLoad = 0
    this.shadowRoot.adoptedStyleSheets = p.sheets // without those of xterm.js
    p.gutter.textContent = ''
    p.toEnd.classList.add('off')
    p.cut.hidden = true
    this.#loaded.resolve()
    this.#loaded = Promise.withResolvers()
  }

  #showTheme() {
    if (!this.#xterm) return
    this.#xterm.options.theme = themes(this.#dark, this.row?.pty)
    this.#finder?.redraw()
  }

  // fit fits the screen to its pane. A screen at the end stays there.
  #fit() {
    if (!this.#xterm?.element) return
    const { following } = this
    const { screen, wrap } = this.#parts
    const appears = !this.#visible && screen.clientHeight > 0
    this.#visible = screen.clientHeight > 0
    if (this.#size) this.#askSize()
    screen.classList.toggle('fills', !!this.#size)
    const selection = this.#xterm.getSelectionPosition(), { cols } = this.#xterm
    const narrow = fit(this.#xterm, screen, this.row?.pty ? this.row : null, wrap.getAttribute('aria-pressed') === 'true')
    wrap.hidden = !narrow || screen.classList.contains('unused')
    // xterm.js clears the selection, and Control C would then interrupt the command instead of copying.
    if (selection && this.#xterm.cols === cols) this.#select(selection)
    this.#numbers?.fit()
    if (!following || this.#shown) return
    this.#xterm.scrollToBottom()
    if (appears) this.#stayAtEnd(this.#xterm)
  }

  // stayAtEnd keeps a screen that appears at the end for a while, or until the user or a jump scrolls. xterm.js first
  // scrolls it by the height that it had while it was hidden. This uses internals of the vendored version 6.0.0.
  #stayAtEnd(xterm) {
    this.#leaveEnd()
    let steady = 0
    const stay = () => {
      this.#showToEnd()
      if (this.following ? ++steady > 5 : this.#shown) return this.#leaveEnd()
      if (this.following) return
      steady = 0
      const viewport = xterm._core._viewport
      viewport._latestYDisp = undefined // so that the scrollbar moves
      viewport._sync()
      xterm.scrollToBottom()
      this.#showToEnd()
    }
    const timer = setInterval(stay, 100)
    const rendered = xterm.onRender(() => { if (!this.following) stay() })
    this.#leaveEnd = () => {
      clearInterval(timer)
      rendered.dispose()
      this.#leaveEnd = () => {}
    }
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
    this.#leaveEnd()
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
      if (p.findText.value) this.find(p.findText.value, false, true)
    } else {
      this.#finder?.clear()
      p.findButton.focus()
    }
  }

  // connect shows the terminal of src, or with again only its output once more.
  async #connect(again = false) {
    this.#connection?.abort()
    const { signal } = this.#connection = new AbortController()
    const focused = this.#parts.screen.contains(this.shadowRoot.activeElement)
    if (!again) this.#clear()
    this.#clearScreen()
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
        if (event.type !== 'status') return this.#write(event.data, signal).then(() => { if (!signal.aborted) this.#showLoading(event.id) })
        const { now, row, size } = event.data
        this.#showStatus(now, row ?? { ...this.row, ...size })
        this.#toLoad ||= this.row.bytes
        this.#showLoading()
      },
      onConnection: (state, reason) => {
        if (signal.aborted) return
        this.#setOnline(state === 'open')
        if (state === 'gone' || state === 'forbidden' || state === 'impossible') this.#setUnknown()
        const elsewhere = !this.dispatchEvent(new CustomEvent('connection', { detail: state, cancelable: true }))
        this.#say(elsewhere && (state === 'lost' || state === 'busy') ? '' : {
          lost: 'The connection is lost; trying again.', busy: 'Too many pages are open; waiting.',
          gone: 'This terminal is not kept any more.', forbidden: 'This address is not good any more.',
          impossible: `The terminal cannot be shown: ${reason}`,
        }[state] ?? '', signal)
      },
    })
    if (!signal.aborted) await this.#finish(signal)
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

  // finish completes the screen after the end of the output.
  async #finish(signal) {
    const rest = this.#groups?.rest()
    if (rest) await new Promise(resolve => this.#xterm.write(rest, resolve))
    if (signal.aborted) return
    this.#showLoading('', true)
    if (this.#kind === 'pty' || !this.row || !this.row.dropped && this.#numbers.known) return
    try { // the number of the last line is that of all line ends, without the note about what is dropped
      const response = await fetch(`${this.getAttribute('src')}/text`, { signal })
      const lines = response.ok ? 1 + await lineEnds(response.body) : 0
      if (!signal.aborted && lines && !this.#shown) this.#numbers.start(this.row.dropped ? lines - 1 : lines)
      if (!signal.aborted) this.#showCut()
    } catch {} // no numbers without a connection
  }

  // showLoading shows how much of the output that existed at first has arrived. id is that of the last event.
  #showLoading(id = '', ended = false) {
    const p = this.#parts
    if (!p || !this.row || this.#loaded.done) return
    const at = Number(id?.split('-')[1] ?? 0)
    const loaded = ended || this.#kind === 'pty' || at >= this.#toLoad
    p.loading.textContent = loaded ? '' : `Loading… ${at ? `${bytes(at)} of ` : ''}${bytes(this.#toLoad)}`
    if (!loaded) return
    this.#loaded.done = true
    this.#loaded.resolve()
    if (this.hasAttribute('line') && !this.#folded.size) this.#showLine()
  }

  // write waits until xterm.js has shown the output, so that the stream is read no faster.
  async #write({ missed, text, replaced }, signal) {
    const marked = !this.#groups && this.#kind === 'pipe' && mayMark(text)
    const wide = !this.#widths && mayBeWide.test(text)
    if (marked || wide) {
      const { Groups, Unicode11Addon } = await this.#loadLater(signal) ?? {}
      if (signal.aborted) return
      if (marked && Groups) this.#groups = new Groups(this.#folded, this.#decided, this.#atStart)
      if (wide && Unicode11Addon) {
        this.#widths = Unicode11Addon
        this.#setWidths(this.#xterm)
      }
    }
    if (this.#shown || this.#moving) return // the live output is read again after the window
    const xterm = this.#xterm
    let lead = ''
    if (replaced) {
      xterm.reset() // nothing is queued, because each write is awaited
      this.#finder?.rescan()
      this.#groups?.reset()
      this.#headings = []
      this.#numbers.start(1)
      this.missed = 0
      lead = '\x18\x1b\\' // earlier output may end within an escape sequence
    }
    if (missed) {
      this.missed += missed
      // Earlier output may end within an escape sequence or a colour, so both are reset.
      const bol = xterm.buffer.active.cursorX ? '\r\n' : ''
      const kept = this.#written || missed > (this.row?.dropped ?? 0) + 3
      const reason = this.#written ? 'the output was faster than this page'
        : kept ? 'Earlier has what is kept' : 'it is not kept'
      this.#gap ||= kept
      const note = `${bol}\x1b[7m ${bytes(missed)} not shown: ${reason}. \x1b[0m\r\n`
      lead = `\x18\x1b\\\x1b[0m${this.row?.pty ? '' : note}` // on a PTY the note would spoil the screen
      this.#groups?.reset()
    }
    this.#written = true
    this.#atStart = text.endsWith('\n')
    if (!this.#wrapChosen && this.#kind === 'pipe' && redraws.test(text) && this.#parts.wrap.getAttribute('aria-pressed') === 'true') {
      this.#parts.wrap.setAttribute('aria-pressed', 'false')
      this.#fit()
    }
    await new Promise(resolve => {
      signal.addEventListener('abort', resolve, { once: true })
      if (lead) xterm.write(lead)
      if (missed) xterm.write('', () => this.#gap ? this.#numbers.forget() : this.#numbers.start(1))
      this.#writePieces(text)
      xterm.write('', () => {
        signal.removeEventListener('abort', resolve)
        if (!signal.aborted) this.#showCut()
        resolve()
      })
    })
  }

  // writePieces writes the output in pieces: groups, and no more rows at once than the numbers of lines can follow.
  #writePieces(text) {
    const xterm = this.#xterm, numbers = this.#numbers
    if (this.#kind === 'pty') return xterm.write(text)
    for (const piece of this.#groups?.pieces(text) ?? [{ text }]) {
      if (piece.skipped) xterm.write('', () => numbers.skip(piece.skipped))
      if (piece.group) xterm.write('', () => this.#headings.push({ id: piece.group, marker: xterm.registerMarker(0) }))
      for (const part of cut(piece.text, xterm.cols)) xterm.write(part, () => numbers.advance())
    }
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
    p.firstError.hidden = kindOf(row) !== 'failed' || !row.ended || !row.bytes || !!row.pty
    p.toEnd.textContent = row.ended ? '↓ End' : '↓ Follow'
    p.toEnd.title = row.ended ? 'Go to the end' : 'Go to the end and follow the output'
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
    const numbers = [row.by && `by ${row.by}`, row.dir, row.source, row.session].filter(Boolean)
    // Its width does not depend on the size, which otherwise could change the height of the header, and that the size.
    if (row.columns) numbers.push(`${row.columns} × ${row.rows}`.padEnd(9, '\u2007'))
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
      if (item.textContent === text) return
      item.textContent = text
      item.title = text.length > 60 ? text : ''
    })
  }

  // say shows a note, unless src has changed since the signal.
  #say(text, signal) {
    if (signal?.aborted) return
    if (this.#parts && this.#parts.note.textContent !== text) this.#parts.note.textContent = text
  }
}

// lineEnds returns the number of line ends in a stream of bytes.
async function lineEnds(stream) {
  const reader = stream.getReader()
  let count = 0
  for (let read; !(read = await reader.read()).done;) {
    for (let at = -1; (at = read.value.indexOf(10, at + 1)) >= 0;) count++
  }
  return count
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
function build(root, onMenu) {
  const p = {}
  const button = (text, properties) => element('button', { type: 'button', textContent: text, ...properties })
  const choice = (sign, name, key) => button('', {
    class: 'choice', 'data-sign': sign, 'aria-pressed': 'false', 'aria-label': name, title: `${name} (Alt+${key})`,
  })
  p.state = element('span', { class: 'state', role: 'status', 'aria-live': 'polite' })
  p.command = element('code', { class: 'command', role: 'heading', 'aria-level': '2' })
  p.more = button('', { class: 'more', hidden: true })
  p.numbers = element('ul', { class: 'numbers', 'aria-label': 'About this command' })
  p.owner = element('span', { class: 'owner' })
  p.note = element('p', { class: 'note', role: 'status' })
  p.problem = element('p', { class: 'note problem', role: 'alert' })
  p.reader = button('Screen reader', { class: 'reader', 'aria-pressed': 'false', title: 'Make the output readable for screen readers' })
  p.findButton = button('Find', { 'aria-expanded': 'false', 'aria-controls': 'find' })
  p.wrap = button('Wrap', { class: 'wrap', 'aria-pressed': 'true', hidden: true, title: 'Wrap long lines to the width of the window' })
  p.full = button('', { class: 'full', 'aria-label': 'Full screen', 'aria-pressed': 'false', title: 'Full screen', hidden: !document.fullscreenEnabled })
  p.firstError = button('First error', { class: 'first-error', hidden: true, title: 'Show the first line that tells of an error' })
  p.copy = button('Copy', { class: 'copy' })
  p.copyOutput = button('Copy output', { class: 'copy-output' })
  p.copyCommand = button('Copy command', { class: 'copy-command' })
  p.copyLink = button('Copy link to this terminal', { class: 'copy-link' })
  p.foldAll = button('Fold groups', { class: 'fold-all' })
  p.whole = element('a', { class: 'whole', textContent: 'Open as text', target: '_blank', rel: 'noopener', title: 'The whole output as plain text' })
  p.menu = menuOf(p.copy, [p.copyOutput, p.copyCommand, p.copyLink, p.whole, p.foldAll], onMenu)
  p.cutText = element('span')
  p.earlier = button('Earlier', { class: 'earlier', title: 'Show the output before this' })
  p.later = button('Later', { class: 'later', title: 'Show the output after this' })
  p.cut = element('p', { class: 'cut', hidden: true }, p.cutText, p.earlier, p.later)
  p.stop = button('Stop', { class: 'stop', hidden: true })
  p.findText = element('input', { type: 'search', 'aria-label': 'Find in the output', placeholder: 'Find', spellcheck: false, autocomplete: 'off' })
  p.findCount = element('span', { class: 'count', role: 'status' })
  p.findCase = choice('Aa', 'Match case', 'C')
  p.findWord = choice('ab', 'Whole word', 'W')
  p.findRegex = choice('.*', 'Regular expression', 'R')
  p.findPrevious = button('↑', { 'aria-label': 'Previous' })
  p.findNext = button('↓', { 'aria-label': 'Next' })
  p.findClose = button('✕', { 'aria-label': 'Close' })
  p.findBar = element('div', { class: 'find', id: 'find', role: 'search', hidden: true },
    element('span', { class: 'find-text' }, p.findText, p.findCase, p.findWord, p.findRegex), p.findCount, p.findPrevious, p.findNext, p.findClose)
  p.screen = element('div', { class: 'screen' })
  p.message = element('p', { class: 'message' })
  p.gutter = element('div', { class: 'gutter', 'aria-hidden': 'true', title: 'A click links to the line' })
  p.loading = element('p', { class: 'loading', role: 'status' })
  p.toEnd = button('↓ Follow', { class: 'to-end off' })
  p.typing = element('p', { class: 'typing', role: 'status', hidden: true })
  p.box = element('section', { class: 'box', 'aria-label': 'Terminal' },
    element('header', {},
      element('div', { class: 'title' }, p.state, p.owner, p.command, p.more),
      element('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Terminal' }, p.reader, p.firstError, p.findButton, p.wrap, p.menu, p.full, p.stop),
      element('div', { class: 'about' }, p.numbers, p.toEnd), p.cut, p.note, p.problem),
    p.findBar,
    element('div', { class: 'body' }, p.gutter, p.screen, p.message, p.loading),
    p.typing)
  root.replaceChildren(p.box)
  return p
}

// The page may have loaded the element from another view already. That element also shows the terminals of this view.
if (!customElements.get('acp-terminal')) customElements.define('acp-terminal', AcpTerminal)
