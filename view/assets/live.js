// The live output on its way to the screen.
import { mayTell } from './firsterror.js'
import { kept } from './kept.js'
import { writePieces } from './lines.js'
import { mayLink, mayMark, mayPrompt } from './marks.js'
import { bytes, kindOf } from './text.js'

const slice = 4096 // characters for a PTY that xterm.js receives at once, so that it draws between them

export class Live {
  missed = 0 // skipped bytes
  written = false // output has been written
  times = null // of the lines, once the user has asked for them
  end = -1 // offset of the end of the output on the screen, or -1 while it is being written
  errors = null // once some output may have told of errors
  folds = null // once some output has had marks of groups
  #parts
  #screen
  #reading
  #host
  #begun = '' // the end of an unfinished line
  #tinted = false // lines that tell of errors have colours
  #lines = 0 // whole lines
  #asked = false // the times that the user wants were asked for
  #lost = false // some output was not seen
  #linked = false // addresses are underlined
  #loaded = Promise.withResolvers() // resolves when the screen has the output that existed at first
  #complete = false // the screen has it
  #toLoad = 0 // bytes of that output

  constructor(parts, screen, reading, host) {
    this.#parts = parts
    this.#screen = screen
    this.#reading = reading
    this.#host = host
    host.on(parts.times, 'click', () => this.#showTimes('clock'))
    host.on(parts.since, 'click', () => this.#showTimes('since'))
  }

  // showTimes shows times of a kind, or hides those that are shown.
  async #showTimes(kind) {
    const later = await this.#host.load(this.#host.signal())
    if (later) (this.times ??= new later.Times(this.#parts, this.#screen, this.#reading, this, this.#host)).choose(kind)
  }

  // loaded resolves when the screen has the output that existed at first.
  get loaded() { return this.#loaded.promise }

  // complete means that the screen has that output.
  get complete() { return this.#complete }

  // expect says how many bytes of output exist.
  expect(size) {
    const times = !this.times && !this.#asked && kept('acpTerminalTimes')
    if (times && size && this.#screen.kind === 'pipe') {
      this.#asked = true
      this.#showTimes(times)
    }
    this.#toLoad ||= size
    this.showLoading()
  }

  // close forgets the output, and clear also what is folded.
  close() {
    this.folds?.close()
    this.times?.close()
    this.end = -1
    this.missed = this.#toLoad = 0
    this.written = this.#tinted = this.#linked = false
    this.#begun = ''
    this.#lines = 0
    this.#lost = false
    this.errors?.restart()
    this.#loaded.resolve(null)
    this.#loaded = Promise.withResolvers()
    this.#complete = false
  }

  clear() {
    this.folds?.clear()
    this.errors?.clear()
  }

  // finish completes the screen after the end of the output.
  async finish(signal) {
    if (this.folds?.begun && !this.#reading.shown) {
      const { xterm, numbers } = this.#screen
      writePieces(xterm, numbers, this.folds.rest(), this.folds.onHeading)
      await new Promise(resolve => xterm.write('', resolve))
    }
    if (signal.aborted) return
    this.showLoading('', true)
    this.errors?.finish(signal)
    const failed = this.#host.row() && kindOf(this.#host.row()) === 'failed'
    if (failed && await this.folds?.openFirstError()) this.#reading.showLine()
    if (signal.aborted) return
    if (this.#screen.kind === 'pty' || !this.#host.row() || !this.#host.row().dropped && this.#screen.numbers.known) return
    const { countLines } = await this.#host.load(signal) ?? {}
    const lines = await countLines?.(`${this.#host.src()}/text/valid`, signal)
    if (signal.aborted || !lines) return
    if (!this.#reading.shown) this.#screen.numbers.set(this.#host.row().dropped ? lines - 1 : lines) // without the note
    this.#reading.showCut()
  }

  // showLoading shows how much of the output that existed at first has arrived. id is that of the last event.
  showLoading(id = '', ended = false) {
    const p = this.#parts
    const at = Number(id?.split('-')[1] ?? 0)
    if (id) {
      this.end = at
      this.times?.written()
    }
    if (!this.#host.row() || this.#complete) return
    const loaded = ended || this.#screen.kind === 'pty' && !this.folds?.keepsPlace || at >= this.#toLoad
    p.loading.textContent = loaded ? '' : `Loading… ${at ? `${bytes(at)} of ` : ''}${bytes(this.#toLoad)}`
    if (!loaded) return
    this.#complete = true
    this.#loaded.resolve(null)
    if (this.#host.line() && !this.folds?.keepsPlace && !this.#reading.keeps) this.#reading.showLine()
  }

  // write waits until xterm.js has the output, so that the stream is read no faster. If more has come, it is shown with
  // that.
  async write({ offset, missed, text, replaced }, signal, more) {
    this.end = -1
    const pty = this.#screen.kind === 'pty'
    const marked = !this.folds?.begun && (mayPrompt(text) || !pty && mayMark(text))
    const told = this.#screen.kind === 'pipe' && !this.#tinted && mayTell.test(this.#begun + text)
    const wide = this.#screen.lacksWidths(text)
    const again = this.#screen.lacksLines(text, this.#begun.length)
    const linked = !this.#linked && mayLink(this.#begun + text, this.#host.row())
    const collects = this.#screen.kind === 'pipe' && !this.errors && (told || mayTell.test(this.#begun + text))
    if (marked || told || wide || again || linked || collects) {
      const { Errors, Folds, tint, underline, Unicode11Addon, wrapLines } = await this.#host.load(signal) ?? {}
      if (signal.aborted) return
      if (marked && Folds) (this.folds ??= new Folds(this.#parts, this.#screen, this.#reading, this.#host)).begin(!this.#begun)
      if (collects && Errors) this.errors = new Errors(this.#parts, this.#host, this.#lines, this.#begun, this.#lost)
      if (again && wrapLines) this.#screen.addLines(wrapLines)
      if (linked && underline) underline(this.#screen.xterm, this.#host)
      this.#linked ||= linked
      if (told && tint) tint(this.#screen.xterm)
      this.#tinted ||= told
      if (wide && Unicode11Addon) this.#screen.addWidths(Unicode11Addon)
    }
    if (this.#reading.shown || this.#reading.moving) return // the live output is read again after the window
    const xterm = this.#screen.xterm
    if (more) this.#screen.hold()
    let lead = ''
    if (replaced) {
      this.#screen.reset() // nothing is queued, because each write is awaited
      this.#host.rescan()
      this.folds?.restart()
      this.#reading.forget()
      this.#screen.numbers.start(1)
      this.errors?.restart()
      this.missed = this.#lines = 0
      this.#lost = false
      lead = '\x18\x1b\\' // earlier output may end within an escape sequence
    }
    if (missed) {
      this.missed += missed
      // Earlier output may end within an escape sequence or a colour, so both are reset.
      const bol = xterm.buffer.active.cursorX ? '\r\n' : ''
      const kept = this.written || missed > (this.#host.row()?.dropped ?? 0) + 3
      const reason = this.written ? 'the output was faster than this page'
        : kept ? 'Earlier has what is kept' : 'it is not kept'
      this.#reading.gap ||= kept
      const note = `${bol}\x1b[7m ${bytes(missed)} not shown: ${reason}. \x1b[0m\r\n`
      lead = `\x18\x1b\\\x1b[0m${this.#host.row()?.pty ? '' : note}` // on a PTY the note would spoil the screen
      this.folds?.reset()
      this.errors?.lose()
      this.#lost = true
    }
    if (this.#screen.kind === 'pipe') this.errors?.add(text)
    for (let at = -1; (at = text.indexOf('\n', at + 1)) >= 0;) this.#lines++
    this.written = true
    this.#parts.message.textContent = ''
    const end = text.lastIndexOf('\n') + 1
    this.#begun = ((end ? '' : this.#begun) + text.slice(end)).slice(-1000)
    /** @type {Promise<void>} */
    const shown = new Promise(resolve => {
      signal.addEventListener('abort', resolve, { once: true })
      if (lead) xterm.write(lead)
      if (missed) xterm.write('', () => {
        this.#reading.gap ? this.#screen.numbers.forget() : this.#screen.numbers.start(1)
        this.times?.start(offset)
      })
      const pieces = this.folds?.pieces(text, offset) ?? [{ text }]
      if (pty) writeSlices(xterm, pieces)
      else writePieces(xterm, this.#screen.numbers, pieces, this.folds?.onHeading)
      xterm.write('', () => {
        signal.removeEventListener('abort', resolve)
        if (!signal.aborted) this.#reading.showCut()
        resolve()
      })
    })
    await shown
    if (!more && !signal.aborted && !this.#reading.moving) this.#screen.release()
  }
}

// writeSlices writes the pieces of a PTY's output.
function writeSlices(xterm, pieces) {
  for (const { text, at } of pieces) {
    if (at) xterm.write('', at)
    for (let begin = 0; begin < text.length; begin += slice) xterm.write(text.slice(begin, begin + slice))
  }
}
