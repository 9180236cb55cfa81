// The bar for finding text in the output. Its Finder is loaded on first use.

export class FindBar {
  #parts
  #screen
  #reading
  #host
  #finder = null // loaded on first use
  #from = null // the element that had the focus before
  #inScreen = false // that was on the screen

  constructor(parts, screen, reading, host) {
    this.#parts = parts
    this.#screen = screen
    this.#reading = reading
    this.#host = host
    const p = parts, { on } = host
    on(p.findButton, 'click', () => this.toggle(p.findBar.hidden))
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
    on(p.findClose, 'click', () => this.toggle(false))
    on(p.box, 'keydown', event => {
      if (p.findBar.hidden && event.key !== 'f') return
      if (event.key === 'Escape') {
        event.preventDefault() // which would empty the input
        this.toggle(false)
      }
      else if (event.key === 'F3') {
        event.preventDefault()
        this.find(p.findText.value, event.shiftKey)
      }
      else if (event.key === 'f' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        this.toggle(true)
      }
    })
  }

  // find marks the next or the previous match of a text in all retained output, and shows it. incremental begins with
  // the current match. It resolves to whether a match exists.
  async find(text, backwards = false, incremental = false) {
    if (!this.#screen.xterm) return false
    if (text) await this.#host.folds()?.unfold()
    this.#screen.leaveEnd()
    const signal = this.#host.signal()
    if (!incremental) await this.#host.loaded() // while the user types, what has arrived is enough
    const finder = await this.#loadFinder(signal)
    if (incremental && text !== this.#parts.findText.value) return false // the user has typed more
    return !!finder && finder.find(text, backwards, incremental)
  }

  // loadFinder returns the finder of the screen, or null if that has changed.
  async #loadFinder(signal) {
    const { Finder } = await this.#host.load(signal) ?? {}
    if (!Finder || signal.aborted || !this.#screen.xterm) return null
    return this.#finder ??= new Finder(this.#screen.xterm, this.#host.dark, this.#parts, {
      partial: () => this.#reading.partial && !this.#reading.moving, shown: () => this.#reading.shown,
      read: async () => (await this.#reading.seeker()).readOrSay(signal),
      show: async (history, last) => (await this.#reading.seeker()).show(history, last),
      transcript: () => this.#screen.reads ? this.#screen.transcript : null,
    })
  }

  // rescan finds the text in a screen that has been written again, and redraw marks the matches in other colours.
  rescan() { this.#finder?.rescan() }

  redraw() { this.#finder?.redraw() }

  close() {
    this.#finder?.dispose()
    this.#finder = null
  }

  // clear removes what belongs to a command.
  clear() { this.#parts.findCount.textContent = '' }

  // toggle shows the bar, or hides it and gives the focus back.
  toggle(show) {
    const p = this.#parts
    const from = p.box.getRootNode().activeElement ?? document.activeElement
    if (show && !p.findBar.contains(from)) {
      this.#from = from
      this.#inScreen = p.screen.contains(from)
    }
    p.findBar.hidden = !show
    p.findButton.setAttribute('aria-expanded', show)
    if (show) {
      this.#screen.fit() // before a match in view is looked for
      p.findText.select()
      p.findText.focus()
      if (p.findText.value) this.find(p.findText.value, false, true)
    } else {
      const { activeElement } = p.box.getRootNode()
      const left = activeElement && !p.findBar.contains(activeElement)
      if (this.#finder?.clear(!left) || left) return
      const places = [this.#from, this.#inScreen ? this.#screen.xterm?.textarea : p.findButton, p.copy]
      places.find(place => place?.checkVisibility() && place !== document.body)?.focus()
    }
  }
}
