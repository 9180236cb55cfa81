// The output as text for screen readers: all lines on the screen, and the headings of groups. The text is transparent,
// and each line is where the screen shows it. New lines are also read out. A PTY has no transcript, because xterm.js
// describes its screen.
import { bisect } from './bisect.js'
import { linesOf, markerAt } from './lines.js'
import { element } from './text.js'

const pause = 250 // milliseconds from output to its text
const idle = 1000 // milliseconds until an unfinished line is read out
const maxRead = 20 // lines that are read out at once

export class Transcript {
  #screen
  #host
  #pane = element('div', { class: 'transcript', role: 'region', 'aria-label': 'Output' })
  #news = element('div', { class: 'news', role: 'log', 'aria-live': 'polite' })
  #xterm = null // the screen that is open
  #lines = [] // { node, text, rows, group }
  #place = null // { marker, index, rows }: the first line that can still change, and the rows before it; null for all
  #top = 0 // scrollTop of the pane, for the row at the top of the screen
  #timer = 0 // until the next draw
  #idleTimer = 0
  #told = 0 // lines that were read out, or were there before
  #begun = '' // the unfinished line that was read out

  constructor(screen, pane, host) {
    this.#screen = screen
    this.#host = host
    pane.after(this.#pane, this.#news)
    this.#pane.onscroll = () => { // by a screen reader or the focus
      const { scrollTop } = this.#pane
      if (!this.#xterm || Math.abs(scrollTop - this.#top) < 1) return
      screen.leaveEnd()
      this.#xterm.scrollToLine(Math.round(scrollTop / this.#rowHeight))
    }
  }

  // open begins with a new screen, once that has the output that existed at first. Lines from before a fold stay.
  async open() {
    const { xterm } = this.#screen, signal = this.#host.signal()
    if (this.#xterm === xterm) return
    this.close()
    this.#xterm = xterm
    await this.#host.loaded()
    if (signal.aborted || this.#xterm !== xterm) return
    xterm.onWriteParsed(() => this.#soon())
    const begin = () => {
      this.#place?.marker.dispose()
      this.#soon()
    }
    xterm.onResize(begin)
    xterm.buffer.onBufferChange(begin) // after a reset
    xterm.onRender(() => this.#follow())
    this.draw()
  }

  // close leaves the screen, and clear also removes the lines.
  close() {
    clearTimeout(this.#timer)
    clearTimeout(this.#idleTimer)
    this.#timer = 0
    this.#xterm = this.#place = null
  }

  clear() {
    this.close()
    this.#lines = []
    this.#pane.replaceChildren()
    this.#news.replaceChildren()
  }

  // focus gives the focus to the line that has a row. It reports whether there is one.
  focus(row) {
    this.draw()
    let rows = 0
    const line = this.#lines.find(line => (rows += line.rows) > row)
    line?.node.focus({ preventScroll: true })
    return !!line
  }

  // draw takes over what has changed on the screen.
  draw() {
    clearTimeout(this.#timer)
    this.#timer = 0
    if (this.#xterm !== this.#screen.xterm) return
    if (this.#screen.numbers.held) return this.#soon()
    const known = this.#place?.marker.line >= 0
    if (known) this.#cut(this.#place.marker.line)
    const { index, rows } = known ? this.#place : { index: 0, rows: 0 }
    const fresh = this.#linesFrom(rows)
    const unfinished = !!fresh.at(-1)?.text
    if (!unfinished) fresh.pop() // the cursor is there
    this.#replace(index, fresh)
    this.#nameHeadings()
    this.#placeAt(fresh.reduce((sum, line) => sum + line.rows, rows))
    this.#follow()
    this.#tell(unfinished, !known || this.#host.shown())
  }

  #soon() { this.#timer ||= setTimeout(() => this.draw(), pause) }

  get #rowHeight() { return this.#xterm.element.querySelector('.xterm-screen').getBoundingClientRect().height / this.#xterm.rows }

  // linesFrom returns the lines from a row on.
  #linesFrom(first) {
    const all = this.#host.folds()?.headings ?? []
    const groups = new Map(all.slice(bisect(all, ({ marker }) => marker.line >= first)).map(group => [group.marker.line, group]))
    return linesOf(this.#xterm, first).map(({ row, text, starts }) => {
      const group = groups.get(row)
      return { text: group?.title ?? text, rows: starts.length, group }
    })
  }

  // cut removes the rows that the screen has dropped before the place, which is now in this row.
  #cut(row) {
    for (let cut = this.#place.rows - row; cut > 0;) {
      const [first] = this.#lines, rows = Math.min(cut, first.rows)
      cut -= rows
      if (rows < first.rows) {
        setRows(first, first.rows - rows)
        continue
      }
      this.#lines.shift().node.remove()
      this.#place.index--
      this.#told--
    }
    this.#place.rows = row
  }

  // replace replaces the lines from an index on. Those that are the same stay, and may have the focus.
  #replace(index, fresh) {
    const lines = this.#lines
    let begin = 0, end = 0
    for (; begin < fresh.length && isSame(lines[index + begin], fresh[begin]); begin++) update(lines[index + begin], fresh[begin])
    const rest = Math.min(lines.length - index, fresh.length) - begin
    for (; end < rest && isSame(lines.at(-1 - end), fresh.at(-1 - end)); end++) update(lines.at(-1 - end), fresh.at(-1 - end))
    const made = fresh.slice(begin, fresh.length - end)
    for (const line of made) line.node = this.#nodeOf(line)
    const gone = lines.splice(index + begin, lines.length - end - index - begin, ...made)
    for (const { node } of gone) node.remove()
    const nodes = document.createDocumentFragment()
    nodes.append(...made.map(({ node }) => node))
    this.#pane.insertBefore(nodes, lines[lines.length - end]?.node ?? null)
  }

  #nodeOf({ text, rows, group }) {
    const node = group ? element('div', { role: 'heading', ariaLevel: '3' }, this.#host.folds().button(group.id)) : element('div', { textContent: text })
    node.tabIndex = -1
    if (rows > 1) node.style.setProperty('--rows', rows)
    return node
  }

  // nameHeadings names the buttons of headings, whose groups may have ended or been folded.
  #nameHeadings() {
    for (const { node: { firstChild: button }, group } of this.#lines) {
      if (!group) continue
      const name = this.#host.folds().nameOf(group)
      if (button.ariaLabel !== name) button.ariaLabel = name
      button.ariaExpanded = !group.folded
    }
  }

  // placeAt sets the place. All lines have this number of rows.
  #placeAt(rows) {
    this.#place?.marker.dispose()
    let index = this.#lines.length
    while (index && rows > this.#xterm.buffer.active.baseY) rows -= this.#lines[--index].rows
    this.#place = { marker: markerAt(this.#xterm, rows), index, rows }
  }

  // follow puts the lines where the screen shows them.
  #follow() {
    const { element, buffer: { active } } = this.#xterm
    const { offsetLeft, offsetTop, clientWidth, clientHeight } = element.parentNode
    Object.assign(this.#pane.style, {
      left: `${offsetLeft}px`, top: `${offsetTop}px`, width: `${clientWidth}px`, height: `${clientHeight}px`,
    })
    this.#pane.style.setProperty('--row', `${this.#rowHeight}px`)
    this.#pane.scrollTop = active.viewportY * this.#rowHeight
    this.#top = this.#pane.scrollTop // which is rounded
  }

  // tell reads new lines out, unless silent. Of many, it says how many they are, and reads the last one.
  #tell(unfinished, silent) {
    const whole = this.#lines.length - unfinished
    const fresh = silent ? [] : this.#lines.slice(Math.max(0, this.#told), whole).map(({ text }) => text)
    this.#told = whole
    if (fresh[0] === this.#begun) fresh.shift()
    if (fresh.length > maxRead) fresh.splice(0, fresh.length - 1, `${fresh.length} new lines. The last:`)
    this.#say(fresh)
    const last = unfinished ? this.#lines.at(-1).text : ''
    clearTimeout(this.#idleTimer)
    if (silent) this.#begun = last
    else if (last && last !== this.#begun) {
      this.#idleTimer = setTimeout(() => {
        this.#say([last])
        this.#begun = last
      }, idle)
    }
  }

  #say(texts) {
    this.#news.append(...texts.map(text => element('div', { textContent: text })))
    while (this.#news.childElementCount > 2 * maxRead) this.#news.firstChild.remove()
  }
}

const isSame = (line, fresh) => line?.group?.id === fresh.group?.id && (fresh.group || line?.text === fresh.text)

// update says that a line is still there, perhaps with other rows and as another group.
function update(line, { rows, text, group }) {
  Object.assign(line, { text, group })
  if (rows !== line.rows) setRows(line, rows)
}

function setRows(line, rows) {
  line.rows = rows
  line.node.style.setProperty('--rows', rows)
}
