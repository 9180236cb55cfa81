// Copying the output or the selection, the command, and a link to the terminal.

export class Copying {
  #parts
  #screen
  #reading
  #host
  #turn = 0 // of the last copy

  constructor(parts, screen, reading, host) {
    this.#parts = parts
    this.#screen = screen
    this.#reading = reading
    this.#host = host
    const { on } = host
    on(parts.copyLink, 'click', () => this.#copy(this.#link(), 'the link'))
    parts.screen.addEventListener('copy', event => {
      if (!screen.xterm?.hasSelection()) return
      event.stopPropagation() // because the text from xterm.js has no tabs
      event.preventDefault()
      event.clipboardData.setData('text/plain', screen.selected())
      if (host.typing()) screen.xterm.clearSelection() // so that Control C interrupts again
    }, { capture: true, signal: host.stopped })
    on(parts.copyOutput, 'click', () => { if (parts.copyOutput.getAttribute('aria-disabled') !== 'true') this.copy() })
    on(parts.copyCommand, 'click', () => this.#copy(host.row().command, 'the command'))
  }

  // asWritten means that the screen has all retained output as the command wrote it.
  get #asWritten() {
    const folds = this.#host.folds()
    return this.#host.complete() && !this.#reading.partial && !(this.#screen.kind === 'pty' ? folds?.keepsPlace : folds?.any)
  }

  // all resolves to all retained output. A fold meanwhile reads the output again, with another signal.
  async #all(src = this.#host.src()) {
    const signal = this.#host.signal()
    try {
      if (this.#screen.kind === 'pty') return await (await fetch(`${src}/text`, { signal })).text()
      const seeker = await this.#reading.seeker()
      return (await seeker.read(signal)).plain
    } catch (error) {
      if (!signal.aborted || src !== this.#host.src()) throw error
      return this.#all(src)
    }
  }

  // copy copies the selection, or else all retained output, to the clipboard.
  async copy() {
    const selected = this.#screen.selected()
    if (!selected && !this.#host.row()?.bytes) return this.#host.say('There is no output to copy.')
    await this.#copy(selected || (this.#asWritten ? this.#screen.text : this.#all()), 'the output')
  }

  // copy copies a text, or that of a promise, unless the user has copied something else by then.
  async #copy(text, what) {
    const src = this.#host.src(), turn = ++this.#turn
    if (text instanceof Promise) text = text.then(all => turn === this.#turn ? all : Promise.reject(new DOMException('', 'AbortError')))
    const say = (text, brief) => { if (src === this.#host.src()) this.#host.say(text, null, brief) }
    if (!text) return say(`There is nothing to copy: ${what} is empty.`)
    try {
      await copyText(text)
      say(`Copied ${what}`, true)
    } catch (error) {
      if (error.name === 'AbortError' || turn !== this.#turn) return
      const lost = error.name === 'TypeError' // thrown by fetch
      say(lost ? 'Not copied: the connection is lost.' : 'The browser does not allow copying')
    }
  }

  // onMenu prepares the menu.
  onMenu() {
    const p = this.#parts
    p.copyOutput.textContent = this.#screen.selected() ? 'Copy selection' : 'Copy output'
    p.copyOutput.setAttribute('aria-disabled', !this.#host.row()?.bytes)
    p.copyLink.textContent = `Copy link to this ${this.#host.time() ? 'time' : this.#line ? 'line' : 'terminal'}`
    p.times.hidden = p.since.hidden = this.#screen.kind === 'pty'
    for (const [item, same] of p.narrow) {
      item.hidden = same.hidden
      if (same === p.wrap) item.textContent = this.#screen.kind === 'pty' ? 'Fit to the width' : 'Wrap lines'
      if (item.hasAttribute('aria-checked')) item.setAttribute('aria-checked', same.getAttribute('aria-pressed'))
    }
    const row = this.#host.row()
    p.background.hidden = !row?.canStop || !!row.ended || !!row.agent
    const folds = this.#host.folds()
    p.foldAll.hidden = !folds?.any || !!this.#reading.shown
    p.foldAll.textContent = folds?.mostlyFolded ? 'Unfold groups' : 'Fold groups'
  }

  // line is the number of the linked line, also before it is marked, or 0.
  get #line() { return this.#screen.kind === 'pty' ? 0 : Number(this.#host.line()) || this.#screen.markedLine || 0 }

  // link returns the address of the terminal's own page, at the linked line.
  #link() {
    const line = this.#line
    const time = this.#host.time()
    return new URL(this.#host.src() + (time ? `#T${time}` : line ? `#L${line}` : ''), location.href).href
  }
}

// copyText puts text, or the text of a promise, on the clipboard. Some browsers allow it only before the first await.
function copyText(text) {
  if (typeof text === 'string') return navigator.clipboard.writeText(text)
  const blob = text.then(text => new Blob([text], { type: 'text/plain' }))
  return navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })])
}
