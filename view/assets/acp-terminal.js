// <acp-terminal src="/<token>/terminals/<key>"> shows one terminal.
//
// The comment of View.ScriptPath, in view.go, describes its attributes, properties, methods and events. Others are for
// the pages of the view: the method name(row), and two properties of the next src: first, the text of its
// first events, and known, its row with the time of that, which is shown until the stream tells more. The default height
// is 24rem. The user can type while the screen has the focus and row.input is true.
//
// The user's choice of output for screen readers is kept in localStorage, as acpTerminalReader.

import { Copying } from './copying.js'
import { FindBar } from './findbar.js'
import { Header } from './header.js'
import { Input } from './input.js'
import { Live } from './live.js'
import { build } from './parts.js'
import { Reading } from './reading.js'
import { Screen } from './screen.js'
import { addLater, addSheets } from './sheets.js'
import { follow } from './stream.js'

const moment = 500 // milliseconds; screen readers forget what comes sooner after a key

const dark = matchMedia('(prefers-color-scheme: dark)')

class AcpTerminal extends HTMLElement {
  static observedAttributes = ['src', 'theme', 'line', 'time']

  row = null
  first = ''
  known = null
  #parts = null // the elements in the shadow root, while this element is in a page
  #stopped // aborts when it is removed from the page
  #host // what the parts may use of the element
  #header
  #screen
  #reading
  #live
  #input
  #find
  #copying
  #connection = null // an AbortController for the current src
  #ready = null // resolves when the styles are loaded
  #later = null // the module later.js, once it is loaded
  #online = false // the connection is open
  #noteEnd = 0 // the timer of a brief note
  #telling = '' // what screen readers will say
  #named = null // the number of a row, and the name of its session

  get following() { return !this.#parts || this.#screen.following }

  get missed() { return this.#live?.missed ?? 0 }

  get text() { return this.#parts ? this.#screen.text : '' }

  get #dark() {
    return this.getAttribute('theme') === 'dark' || this.getAttribute('theme') !== 'light' && dark.matches
  }

  connectedCallback() {
    this.#ready = this.#open()
    this.#connect()
    this.#showLine()
    this.#showTime()
  }

  disconnectedCallback() {
    this.#connection?.abort()
    this.#connection = null
    this.#stopped.abort()
    this.#find.close()
    this.#screen.close()
    this.#parts = null
    this.shadowRoot.replaceChildren()
    this.shadowRoot.adoptedStyleSheets = []
  }

  attributeChangedCallback(name) {
    if (!this.isConnected || !this.#parts) return
    if (name === 'theme') this.#showTheme()
    else {
      if (name === 'src') this.#connect()
      if (name !== 'time') this.#showLine()
      if (name !== 'line') this.#showTime()
    }
  }

  // showLine shows the line of the attribute once the output is loaded, unless another connection begins first.
  #showLine() {
    const { signal } = this.#connection
    this.#live.loaded.then(() => { if (!signal.aborted) this.#reading.showLine() })
  }

  // showTime links to the first line that was written at the time of the attribute or later, in seconds after the start.
  async #showTime() {
    const time = this.getAttribute('time'), { signal } = this.#connection
    if (time === null) return
    await this.#live.loaded
    const { LineTimes } = signal.aborted || this.row?.pty ? {} : await this.#load(signal) ?? {}
    const times = LineTimes && new LineTimes(this.#host, 0, 0)
    if (await times?.ask() !== 'known' || signal.aborted || time !== this.getAttribute('time')) return
    this.setAttribute('line', times.lineAt(Number(time) * 1000))
  }

  // name shows the name that a session has in the list. The stream of an ended command does not tell a later one.
  name({ number, session }) {
    this.#named = { number, session }
    if (this.row?.number === number && this.row.session !== session) this.#showStatus(this.#header.now, this.row)
  }

  // openFind opens the find bar, if there is output to find in. It reports whether there is.
  openFind() {
    const can = !!this.#parts && !this.#parts.findButton.hidden
    if (can) this.#find.toggle(true)
    return can
  }

  // goToError shows the next error, or the previous one if step is -1. It reports whether there is one.
  goToError(step) {
    const errors = this.#parts && !this.#input.takesKeys ? this.#live.errors : null
    errors?.go(step)
    return !!errors?.count
  }

  // stop asks the command to end. A second call before its end kills it.
  async stop() {
    if (this.#parts && this.hasAttribute('src')) await this.#header.stop()
  }

  // copy copies the selection, or else all retained output, to the clipboard.
  copy() { return this.#copying.copy() }

  // find marks the next or the previous match of a text in all retained output, and shows it. incremental begins with
  // the current match. It resolves to whether a match exists.
  async find(text, backwards = false, incremental = false) {
    return !!this.#parts && this.#find.find(text, backwards, incremental)
  }

  // earlier shows the output before the screen's, and later the output after it, finally the live output.
  async earlier() { await this.#reading?.earlier() }

  async later() { await this.#reading?.later() }

  // open makes the parts.
  async #open() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    const stopped = this.#stopped = new AbortController()
    const on = (target, type, handler) => target.addEventListener(type, handler, { signal: stopped.signal })
    const p = this.#parts = build(root, () => this.#copying.onMenu())
    const host = this.#host = {
      on, stopped: stopped.signal, // until the element is removed
      row: () => this.row, src: () => this.getAttribute('src'), line: () => this.getAttribute('line'), dark: () => this.#dark,
      signal: () => this.#connection?.signal, // of the current connection
      online: () => this.#online, missed: () => this.#live.missed, written: () => this.#live.written,
      typing: () => this.#input.typing,
      say: (...note) => this.#say(...note), tell: text => this.#tell(text), load: signal => this.#load(signal), later: () => this.#later,
      connect: () => this.#connect(),
      reload: () => { // reads the output again
        this.#connect(true)
        return this.#live.loaded
      },
      loaded: () => this.#live.loaded, complete: () => this.#live.complete, folds: () => this.#live.folds, errors: () => this.#live.errors, showErrors: () => this.#header.showErrors(), times: () => this.#live.times,
      shown: () => this.#reading.shown, rescan: () => this.#find.rescan(), reads: () => { this.#reading.reads = true }, keepSize: () => this.#input.keepSize(),
      time: () => this.getAttribute('time'),
      pickTime: seconds => {
        this.setAttribute('time', seconds)
        this.dispatchEvent(new CustomEvent('time', { detail: seconds }))
      },
      pick: number => {
        this.removeAttribute('time')
        if (number) this.setAttribute('line', number)
        else this.removeAttribute('line')
        this.dispatchEvent(new CustomEvent('line', { detail: number }))
      },
    }
    this.#screen = new Screen(p, root, host)
    this.#reading = new Reading(p, this.#screen, host)
    this.#live = new Live(p, this.#screen, this.#reading, host)
    this.#input = new Input(p, this.#screen, this.#reading, host)
    this.#find = new FindBar(p, this.#screen, this.#reading, host)
    this.#copying = new Copying(p, this.#screen, this.#reading, host)
    this.#header = new Header(p, host)
    await addSheets(root)
    if (stopped.signal.aborted) return

    const resized = new ResizeObserver(() => { this.#screen.fit(); this.#header.showMore() })
    resized.observe(p.screen)
    stopped.signal.addEventListener('abort', () => resized.disconnect())
    on(dark, 'change', () => this.#showTheme())
    on(p.stop, 'click', () => this.stop())
    on(p.background, 'click', () => this.#header.moveToBackground())
    on(p.full, 'click', () => {
      if (document.fullscreenElement === this) document.exitFullscreen()
      else this.requestFullscreen().catch(() => this.#say('The browser does not allow the full screen'))
    })
    on(this, 'fullscreenchange', () => {
      const full = document.fullscreenElement === this
      p.full.setAttribute('aria-pressed', full)
      if (full) navigator.keyboard?.lock?.(['Escape']).catch(() => {}) // for the command; a long press leaves
    })
  }

  // openScreen makes a new screen for each src.
  #openScreen() {
    const screen = this.#screen
    this.#input.open(screen.open())
    if (this.row) screen.setKind()
    screen.numbers.start(1)
    this.#live.times?.open()
    screen.fit()
    this.#input.show()
  }

  // clear removes the contents for the current src.
  #clear() {
    this.row = null
    this.#online = false
    this.#say('')
    this.#telling = ''
    for (const part of [this.#header, this.#screen, this.#live, this.#input, this.#find]) part.clear()
    delete this.dataset.state
  }

  #showTheme() {
    this.#screen.showTheme()
    this.#find.redraw()
  }

  // connect shows the terminal of src, or with again only its output once more.
  async #connect(again = false) {
    this.#connection?.abort()
    const { signal } = this.#connection = new AbortController()
    const focused = this.shadowRoot.activeElement?.closest(again ? '.screen, .cut' : '.screen, .cut, .transcript')
    if (!again) {
      this.#screen.keep()
      this.#clear()
    }
    for (const part of [this.#find, this.#screen, this.#reading, this.#live]) part.close()
    await this.#ready
    if (signal.aborted) return
    const src = this.getAttribute('src'), { first, known } = this
    const following = src !== null && this.#follow(src, signal)
    this.#openScreen() // while the browser connects
    if (focused) this.#screen.focus()
    if (known && !first) this.#showStatus(known.now, known.row)
    await following
    if (signal.aborted) return
    this.#screen.drop()
    if (!following) return
    await this.#live.finish(signal)
    if (signal.aborted) return
    this.#header.showNone()
    this.#screen.showEnd()
  }

  // follow shows the output of a src until its end.
  #follow(src, signal) {
    this.#parts.whole.href = `${src}/text`
    this.#parts.download.href = `${src}/download`
    this.#input.connect(src, signal)
    const { first } = this
    this.first = ''
    this.known = null
    let noted = '' // about the connection
    return follow(`${src}/output`, {
      signal, first,
      onEvent: event => {
        if (signal.aborted) return
        if (event.type !== 'status') return this.#live.write(event.data, signal, event.more).then(() => { if (!signal.aborted) this.#live.showLoading(event.id) })
        const { now, row, size } = event.data
        this.#showStatus(now, row ?? { ...this.row, ...size })
        this.#live.expect(this.row.bytes)
      },
      onConnection: (state, reason) => {
        if (signal.aborted) return
        this.#setOnline(state === 'open')
        if (state === 'gone' || state === 'forbidden' || state === 'impossible') this.#setUnknown()
        const elsewhere = !this.dispatchEvent(new CustomEvent('connection', { detail: state, cancelable: true }))
        const text = {
          lost: 'The connection is lost; trying again.', busy: 'Too many pages are open; waiting.',
          gone: 'This terminal is not kept any more.', forbidden: 'This address is not good any more.',
          impossible: `The terminal cannot be shown: ${reason}`,
        }[state] ?? ''
        // A note about something else stays while retries fail.
        if (text !== noted) this.#say(elsewhere && (state === 'lost' || state === 'busy') ? '' : text, signal)
        noted = text
      },
    })
  }

  #setOnline(online) {
    this.#online = online
    this.#header.showOnline(online)
    this.#input.try()
  }

  // setUnknown removes the state of a command that can no longer be known, unless the command had ended.
  #setUnknown() {
    this.#parts.stop.hidden = true
    if (!this.row || this.row.ended) return
    this.row = { ...this.row, state: 'unknown', ended: this.#header.now }
    this.dataset.state = this.row.state
    this.#header.showUnknown(this.row)
  }

  #showStatus(now, row) {
    const before = this.row
    this.#header.now = now
    if (this.#named?.number === row.number) row = { ...row, session: this.#named.session }
    this.row = row
    this.dataset.state = row.state
    if (row.bytes <= row.dropped) this.#screen.drop() // no rows will come
    if (before?.number !== row.number) this.#screen.setKind()
    else if (before.columns !== row.columns || before.rows !== row.rows) this.#input.resized(row)
    this.#header.show(row, before)
    this.#screen.showEnd()
    this.#input.show()
    const asks = row.activity === 'input' && before?.activity !== 'input' && !this.#input.takesKeys
    if (asks) this.#tell(['Waits for input', this.#screen.lastLine].filter(Boolean).join(': '))
    this.dispatchEvent(new CustomEvent('status', { detail: row }))
  }

  // load loads what a page needs only when the user asks for it. Browsers remember that an address could not be loaded, so
  // another try has another address.
  async #load(signal) {
    try {
      if (this.#later) return this.#later
      const later = await import('./later.js').catch(() => import(new URL(`later.js?${Date.now()}`, import.meta.url).href))
      addLater(later.styles)
      return this.#later = later
    } catch {
      this.#say('A file of this page cannot be loaded; the connection is lost.', signal)
      return null
    }
  }

  // say shows a note, unless src has changed since the signal. A brief one goes by itself, and moves nothing.
  #say(text, signal, brief = false) {
    if (signal?.aborted || !this.#parts) return
    const { note } = this.#parts
    clearTimeout(this.#noteEnd)
    note.classList.toggle('brief', brief)
    if (note.textContent !== text) {
      note.textContent = text
      this.#tell(text)
    }
    if (brief) this.#noteEnd = setTimeout(() => { note.textContent = '' }, 5000)
  }

  // tell has screen readers say a text, together with others of this moment. They say only what is new in an element that
  // was there before.
  #tell(text) {
    const more = !!this.#telling
    if (text) this.#telling += more ? `. ${text}` : text
    if (text && !more) setTimeout(() => {
      if (this.#telling && this.#parts) this.#parts.said.textContent = this.#telling
      this.#telling = ''
    }, moment)
  }
}

// The page may have loaded the element from another view already. That element also shows the terminals of this view.
if (!customElements.get('acp-terminal')) customElements.define('acp-terminal', AcpTerminal)
