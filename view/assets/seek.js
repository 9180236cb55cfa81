// Going to parts of the output that are not on the screen: earlier and later ones, a line, the first error.
import { isError } from './firsterror.js'
import { History } from './history.js'
import { linesOf } from './lines.js'

// Seeker shows parts of the output on the screen. reading knows which part that is.
export class Seeker {
  #screen
  #reading
  #host
  #history = null // { all, size }: a promise of the History, and the size of the output then; null if none was read

  constructor(screen, reading, host) {
    this.#screen = screen
    this.#reading = reading
    this.#host = host
  }

  // toFirstError shows the first line that tells of an error. Screen readers go on there.
  async toFirstError() {
    await this.#host.folds()?.unfoldFirstError()
    const signal = this.#host.signal()
    await this.#host.loaded()
    if (signal.aborted) return
    if (this.#reading.partial) {
      const history = await this.readOrSay(signal)
      if (!history) return
      const number = history.firstLine(isError)
      if (number >= 0) return this.#readFrom(await this.#rowOfLine(history, number), true)
    } else {
      const line = linesOf(this.#screen.xterm).find(({ text }) => isError(text))
      if (line) return this.#readFrom(line.row, true)
    }
    this.#reading.toEnd()
    this.#host.say('No line tells of an error; this is the end.', signal)
  }

  // showLine shows the line of the attribute.
  async showLine() {
    const number = Number(this.#host.line()), src = this.#host.src()
    if (!number || !this.#screen.xterm || this.#screen.kind === 'pty') return this.#screen.unmark()
    await this.#host.folds()?.unfoldLine(number)
    if (src !== this.#host.src() || number !== Number(this.#host.line()) || !this.#screen.numbers) return
    const signal = this.#host.signal() // unfolding reads the output again
    const row = this.#screen.numbers.rowOf(number)
    if (row >= 0) return this.#readFrom(row)
    const history = this.#reading.partial && await this.readOrSay(signal)
    if (history && history.sectionOfLine(number) >= 0) {
      const shown = await this.#rowOfLine(history, number)
      return this.#readFrom(shown)
    }
    if (!signal.aborted) this.#host.say(`There is no line ${number}.`, signal)
  }

  // rowOfLine shows the part of the output with a line, and returns the line's row, or -1.
  async #rowOfLine(history, number) {
    return await this.show(history, history.sectionOfLine(number) + 1) ? this.#screen.numbers.rowOf(number) : -1
  }

  // readFrom shows a row. Screen readers go on there, if the user has asked for an error.
  #readFrom(row, reads = this.#reading.reads) {
    this.#reading.reads = false
    if (row < 0) return
    this.#screen.reveal(row)
    if (reads) this.#screen.transcript?.focus(row)
  }

  // earlier shows the output before the screen's.
  async earlier() {
    if (!this.#reading.partial || this.#reading.moving || this.#reading.shown?.first === 0) return
    const history = await this.readOrSay(this.#host.signal())
    if (history) await this.show(history, history.sectionOfLine(this.#placeOf(history, 0).number) + 1, 0)
  }

  // later shows the output after the screen's, and finally the live output.
  async later() {
    if (!this.#reading.shown || this.#reading.moving) return
    const { history, last } = this.#reading.shown
    if (history.isLast(last)) this.#host.connect()
    else await this.show(history, last + 2, this.#screen.xterm.buffer.active.baseY)
  }

  // placeOf returns the place of a row: the number of its line, and the rows of that before it.
  #placeOf(history, row) {
    const { numbers, xterm } = this.#screen
    if (!numbers.known) return { number: history.numberAt(xterm, row), rows: 0 }
    const number = numbers.of(row)
    return { number, rows: Math.max(0, row - numbers.rowOf(number)) }
  }

  // rowOf returns a place's row, or NaN if it is not on the screen.
  #rowOf({ number, rows }) {
    const row = this.#screen.numbers.rowOf(number)
    return row >= 0 ? row + rows : NaN
  }

  // read returns all retained output.
  read(signal) {
    if (this.#reading.shown) return Promise.resolve(this.#reading.shown.history)
    const size = this.#host.row()?.bytes
    if (this.#history?.size !== size) {
      const xterm = this.#screen.make(this.#screen.xterm.cols)
      const first = this.#host.row()?.dropped ? 0 : 1 // the text begins with a note about what is dropped
      const all = History.read(`${this.#host.src()}/text/valid`, xterm, signal, first).finally(() => xterm.dispose())
      this.#history = { size, all }
      all.catch(() => { if (this.#history?.all === all) this.#history = null })
    }
    return this.#history.all
  }

  // readOrSay is like read, but if the connection is lost, it shows a note and returns null.
  async readOrSay(signal) {
    try {
      const history = await this.read(signal)
      return signal.aborted ? null : history
    } catch {
      this.#host.say('The rest of the output cannot be read; the connection is lost.', signal)
      return null
    }
  }

  // show shows the window that ends with a section. It keeps the selection, and puts the previous contents of the row
  // top at the top. It reports whether the window is shown: not while another one is being loaded, because the mouse
  // wheel asks for many at once.
  async show(history, last, top) {
    if (this.#reading.moving) return false
    const signal = this.#host.signal()
    const xterm = this.#screen.xterm
    const selection = xterm.getSelectionPosition()
    const [topPlace, selected] = [top, selection?.start.y].map(row => row >= 0 ? this.#placeOf(history, row) : null)
    this.#reading.moving = true
    this.#screen.makeRoom()
    this.#screen.hold()
    const shown = await history.show(this.#screen, last, first => this.#host.times()?.showWindow(history, first))
    if (signal.aborted) return false
    this.#screen.release()
    this.#reading.moving = false
    this.#reading.shown = shown
    this.#screen.unmark()
    this.#host.folds()?.forget()
    this.#host.rescan()
    if (topPlace) xterm.scrollToLine(this.#rowOf(topPlace) || 0)
    if (selection) this.#screen.select(selection, this.#rowOf(selected) - selection.start.y)
    this.#reading.showCut()
    return true
  }
}
