// The output as text for screen readers: all lines on the screen, and the headings of groups. The text is transparent,
// and each line is where the screen shows it. New lines are also read out. A PTY has no transcript, because xterm.js
// describes its screen.
import { bisect } from './bisect.js'
import { linesOf, markerAt } from './lines.js'
import { follow, linksIn } from './links.js'
import { element } from './text.js'

const pause = 250 // milliseconds from output to its text
const idle = 1000 // milliseconds until an unfinished line is read out
const progress = 5000 // milliseconds until it is read out again, if it changes
const maxRead = 5 // lines that are read out at once; of more, only the last
const rests = [1000, 4000] // milliseconds until more is read out, after few lines and after many

export class Transcript {
  #screen
  #host
  #pane = element('div', {
    class: 'transcript', role: 'region', tabIndex: 0,
    'aria-label': 'Output', 'aria-description': 'Arrow and page keys go from line to line.',
  })
  #news = element('div', { class: 'news', role: 'log', 'aria-live': 'polite' })
  #xterm = null // the screen that is open
  #listeners = [] // to it
  #lines = [] // { node, text, rows, group }
  #place = null // { marker, index, rows }: the first line that can still change, and the rows before it; null for all
  #top = NaN // scrollTop of the pane for what the screen shows, once the lines are there
  #timer = 0 // until the next draw
  #idleTimer = 0
  #told = 0 // lines that were read out, or were there before
  #last = 0 // the number of the last of them, if it is known
  #silent = true // the screen has other lines than before
  #unread = { count: 0, texts: [] } // lines that will be read out, and the text of the last ones
  #resting = false
  #begun = '' // the unfinished line that was read out
  #partial = '' // the unfinished line

  constructor(screen, pane, host) {
    this.#screen = screen
    this.#host = host
    pane.after(this.#pane, this.#news)
    this.#pane.onscroll = () => this.#onScroll()
    this.#pane.addEventListener('keydown', event => this.#onKey(event), true) // before a heading
  }

  // open begins with a new screen, once that has the output that existed at first. Lines from before a fold stay.
  async open() {
    const { xterm } = this.#screen, signal = this.#host.signal()
    if (this.#xterm === xterm) return
    this.close()
    this.#xterm = xterm
    this.#pane.hidden = false
    await this.#host.loaded()
    if (signal.aborted || this.#xterm !== xterm) return
    const begin = () => {
      this.#place?.marker.dispose()
      this.#place = null
      this.#soon()
    }
    this.#listeners = [
      xterm.onWriteParsed(() => this.#soon()), xterm.onRender(() => this.#follow()),
      xterm.onResize(begin),
      xterm.buffer.onBufferChange(() => { // a reset
        this.#silent = true
        begin()
      }),
    ]
    this.#silent = true
    begin()
    this.draw()
  }

  // close leaves the screen, and clear also removes the lines.
  close() {
    if (this.#timer) this.draw()
    clearTimeout(this.#timer)
    clearTimeout(this.#idleTimer)
    this.#timer = this.#idleTimer = 0
    for (const listener of this.#listeners.splice(0)) listener.dispose()
    this.#xterm = this.#place = null
    this.#top = NaN
  }

  clear() {
    this.close()
    this.#lines = []
    this.#last = 0
    this.#unread = { count: 0, texts: [] }
    this.#pane.hidden = true
    this.#pane.replaceChildren()
    this.#news.replaceChildren()
  }

  // focus gives the focus to the line that has a row, or to all lines. It reports whether it could.
  focus(row) {
    if (row === undefined) {
      this.#pane.focus({ preventScroll: true })
      return this.#pane.matches(':focus')
    }
    this.draw()
    return !!this.#xterm && this.#goTo(this.#indexOf(row))
  }

  #indexOf(row) {
    let rows = 0
    return this.#lines.findIndex(line => (rows += line.rows) > row)
  }

  // first is the row of the line to read first: of the linked one, if it is in view, or else the one at the top.
  get #first() {
    const { viewportY } = this.#xterm.buffer.active, row = this.#screen.numbers.rowOf(this.#screen.markedLine ?? 0)
    return row >= viewportY && row < viewportY + this.#xterm.rows ? row : viewportY
  }

  // onKey goes from line to line, and first to the linked one or that at the top of the screen.
  #onKey(event) {
    const page = this.#xterm?.rows
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[event.key]
    if (!step || !this.#xterm || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    event.stopPropagation()
    const at = this.#lines.findIndex(({ node }) => node.contains(event.target))
    const next = at < 0 && Number.isFinite(step) ? this.#indexOf(this.#first) : Math.max(0, at) + step
    this.#goTo(Math.min(Math.max(0, next), this.#lines.length - 1))
  }

  // goTo gives the focus to a line, and scrolls the screen to it. It reports whether there is one.
  #goTo(index) {
    const line = this.#lines[index], { buffer: { active: { viewportY } }, rows } = this.#xterm
    if (!line) return false
    const target = line.group ? line.node.firstChild : line.node
    target.focus({ preventScroll: true })
    const first = this.#lines.slice(0, index).reduce((sum, line) => sum + line.rows, 0)
    const top = Math.min(first, Math.max(viewportY, first + line.rows - rows))
    if (top === viewportY) return true
    this.#screen.leaveEnd()
    this.#xterm.scrollToLine(top)
    this.#follow()
    return true
  }

  // draw takes over what has changed on the screen.
  draw() {
    clearTimeout(this.#timer)
    this.#timer = 0
    if (!this.#xterm) return
    if (this.#screen.numbers.held) return this.#soon()
    this.#onScroll()
    const focused = this.#pane.matches(':focus-within')
    const row = this.#place?.marker.line, known = row >= 0 && row <= this.#place.rows
    if (known) this.#cut(row)
    const { index, rows } = known ? this.#place : { index: 0, rows: 0 }
    const fresh = this.#linesFrom(rows)
    const unfinished = !!fresh.at(-1)?.text
    if (!unfinished) fresh.pop() // the cursor is there
    this.#replace(index, fresh)
    this.#nameHeadings()
    const end = fresh.reduce((sum, line) => sum + line.rows, rows)
    this.#placeAt(end)
    this.#follow()
    if (focused && !this.#pane.matches(':focus-within')) this.#pane.focus({ preventScroll: true }) // its line is gone
    this.#readNew(unfinished, end, known ? '' : row < 0 ? 'dropped' : 'again')
  }

  // onScroll scrolls the screen after a screen reader or the focus has scrolled the lines.
  #onScroll() {
    const { scrollTop } = this.#pane
    if (!this.#xterm || !(Math.abs(scrollTop - this.#top) >= 1)) return
    const row = scrollTop / this.#rowHeight
    this.#screen.leaveEnd()
    this.#xterm.scrollToLine(scrollTop > this.#top ? Math.ceil(row) : Math.floor(row))
    this.#follow()
  }

  #soon() { this.#timer ||= setTimeout(() => this.draw(), pause) }

  get #rowHeight() { return this.#xterm.element.querySelector('.xterm-screen').getBoundingClientRect().height / this.#xterm.rows }

  // linesFrom returns the lines from a row on.
  #linesFrom(first) {
    const all = this.#host.folds()?.headings.all ?? []
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
    const gone = lines.splice(index + begin, lines.length - end - index - begin, ...made)
    if (this.#told > index + begin && this.#told >= index + begin + gone.length) this.#told += made.length - gone.length
    if (gone.length === 1 && made.length === 1 && !gone[0].group && !made[0].group) { // a line that grows
      made[0].node = gone[0].node
      made[0].node.replaceChildren(...withLinks(made[0].text))
      return setRows(made[0], made[0].rows)
    }
    for (const line of made) line.node = this.#nodeOf(line)
    for (const { node } of gone) node.remove()
    const nodes = document.createDocumentFragment()
    nodes.append(...made.map(({ node }) => node))
    this.#pane.insertBefore(nodes, lines[lines.length - end]?.node ?? null)
  }

  #nodeOf({ text, rows, group }) {
    const node = element('div', { tabIndex: -1 }, ...group ? [] : withLinks(text))
    if (group) {
      const button = this.#host.folds().headings.button(group.id)
      button.tabIndex = -1 // arrow keys lead to it
      Object.assign(node, { role: 'heading', ariaLevel: '3' }).append(button)
    }
    if (rows > 1) node.style.setProperty('--rows', rows)
    return node
  }

  // nameHeadings names the buttons of headings, until their groups have ended.
  #nameHeadings() {
    for (const line of this.#lines) {
      if (!line.group || line.named) continue
      const { node: { firstChild: button }, group } = line
      button.ariaLabel = this.#host.folds().headings.nameOf(group)
      button.ariaExpanded = !group.folded
      line.named = group.lines !== undefined
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
    const { element, buffer: { active }, options: { fontFamily, fontSize } } = this.#xterm
    const { offsetLeft, offsetTop, clientWidth, clientHeight } = element.parentNode
    Object.assign(this.#pane.style, {
      left: `${offsetLeft}px`, top: `${offsetTop}px`, width: `${clientWidth}px`, height: `${clientHeight}px`,
      fontFamily, fontSize: `${fontSize}px`, lineHeight: `${this.#rowHeight}px`, overflowWrap: 'anywhere',
    })
    this.#pane.style.setProperty('--row', `${this.#rowHeight}px`)
    this.#pane.scrollTop = active.viewportY * this.#rowHeight
    this.#top = this.#pane.scrollTop // which is rounded
  }

  // readNew reads new lines out, unless they were there before. All lines have this number of rows. drawn says
  // whether all were drawn: "again", or because the screen has "dropped" those that were known.
  #readNew(unfinished, rows, drawn) {
    const { numbers } = this.#screen, shown = this.#host.shown()
    const whole = this.#lines.length - unfinished, last = unfinished ? this.#lines.at(-1) : null
    const told = shown ? Infinity : drawn ? this.#resumeAt(drawn) : Math.max(0, this.#told)
    const fresh = this.#lines.slice(told, whole).map(({ text }) => text)
    const number = whole ? numbers.of(rows - (last?.rows ?? 0) - 1) : 0
    if (fresh[0] === this.#begun) fresh.shift()
    const count = told === 0 && this.#last && number ? number - this.#last : fresh.length // with lines that were dropped
    this.#told = whole
    if (!shown) this.#last = Math.max(this.#last, number)
    if (whole > told) {
      this.#begun = ''
      clearTimeout(this.#idleTimer)
      this.#idleTimer = 0
    }
    if (fresh.length) this.#say(fresh, count)
    this.#partial = last?.text ?? ''
    if (this.#silent) this.#begun = this.#partial
    this.#silent = false
    if (this.#partial !== this.#begun) this.#idleTimer ||= setTimeout(() => this.#readPartial(), this.#begun ? progress : idle)
  }

  #readPartial() {
    this.#idleTimer = 0
    if (!this.#partial || this.#partial === this.#begun) return
    this.#begun = this.#partial
    this.#say([this.#begun])
  }

  // resumeAt returns the index of the first line to read out after the screen was written or wrapped again: after the last
  // one that was read out. If that is not on the screen any more, all lines are new.
  #resumeAt(drawn) {
    const { numbers } = this.#screen
    if (!this.#last || !numbers.known) return this.#silent ? Infinity : drawn === 'dropped' ? 0 : Math.max(0, this.#told)
    const row = numbers.rowOf(this.#last)
    return row >= 0 ? this.#indexOf(row) + 1 : numbers.of(0) > this.#last ? 0 : Infinity
  }

  #say(texts, count = texts.length) {
    const unread = this.#unread
    unread.count += count
    unread.texts = [...unread.texts, ...texts].slice(-maxRead)
    if (!this.#resting) this.#speak()
  }

  // speak reads lines out. Of many, it says how many they are, and reads the last one.
  #speak() {
    const { count, texts } = this.#unread, many = count > maxRead
    this.#resting = count > 0
    if (!count) return
    this.#unread = { count: 0, texts: [] }
    this.tell(...many ? [`${count} new lines. The last:`, texts.at(-1)] : texts)
    setTimeout(() => this.#speak(), rests[Number(many)])
  }

  // tell reads texts out.
  tell(...texts) {
    this.#news.append(...texts.map(text => element('div', { textContent: text })))
    while (this.#news.childElementCount > 20) this.#news.firstChild.remove()
  }
}

// withLinks returns a text and elements for the addresses in it.
function withLinks(text) {
  let at = 0
  const parts = linksIn(text).flatMap(({ index, address }) => {
    const link = element('a', {
      style: 'color: inherit; text-decoration: none', // the screen shows it
      href: address, textContent: address, rel: 'noopener noreferrer', onclick: event => {
        event.preventDefault()
        follow(address)
      },
    })
    const before = text.slice(at, index)
    at = index + address.length
    return [before, link]
  })
  return [...parts, text.slice(at)]
}

const isSame = (line, fresh) => line?.group?.id === fresh.group?.id && (fresh.group || line?.text === fresh.text)

// update says that a line is still there, perhaps with other rows and as another group.
function update(line, { rows, text, group }) {
  if (group !== line.group) line.named = false
  Object.assign(line, { text, group })
  if (rows !== line.rows) setRows(line, rows)
}

function setRows(line, rows) {
  line.rows = rows
  line.node.style.setProperty('--rows', rows)
}
