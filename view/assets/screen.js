// The screen of a terminal: xterm.js in its pane, which shows the output of one src, and the numbers of its lines.
import { Terminal } from './xterm/xterm.mjs'
import { drawOnce } from './drawing.js'
import { cell, fit, fontSize, isVisible, measure } from './fit.js'
import { makeInert } from './inert.js'
import { kept } from './kept.js'
import { lastRow, markerAt, textOf, textOfAll } from './lines.js'
import { Numbers } from './numbers.js'
import { openStyled } from './styles.js'
import { element } from './text.js'
import { themes } from './themes.js'

/**
 * kinds are the options of xterm.js that differ between commands with and without a PTY.
 * @type {Record<string, import('@xterm/xterm').ITerminalOptions>}
 */
const kinds = {
  pipe: { convertEol: true, cursorInactiveStyle: 'none', lineHeight: 1.15 }, // output of a pipe has no carriage returns
  pty: { convertEol: false, cursorInactiveStyle: 'outline', lineHeight: 1 },
}

// mayBeWide matches characters whose width differs between versions of Unicode, and others, but no frames or arrows.
const mayBeWide = /[\u1100-\u1fff\u2300-\u24ff\u2580-\uffff]/

const redraws = /\r(?!\n)|\x1b\[\d*[ABJK]/ // moves within lines that were written
export const scrollback = 10000 // lines; each uses some kilobytes of memory, shown or not

const leastRows = 3 // of a pane

// hasLonger reports whether a text has a line with more characters than most. The first line has begun before.
function hasLonger(text, begun, most) {
  if (begun + text.length <= most) return false
  for (let at = 0, end; at < text.length; at = end + 1, begun = 0) {
    end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    if (begun + end - at > most) return true
  }
  return false
}

// hasRows reports whether a screen has output.
function hasRows({ buffer: { active } }) { return active.baseY + active.cursorY + active.cursorX > 0 }

export class Screen {
  /** @type {import('@xterm/xterm').Terminal} */
  xterm = null
  numbers = null // of the lines
  #parts
  #root
  #sheets // of the shadow root, without those of xterm.js
  #host
  #widths = null // the add-on with the widths of emoji, once the output has some
  #wrapLines = null // a function of returns.js, once the output has carriage returns or long lines
  #visible = false // the screen has been fitted to its pane
  #drawn = false // some output was in view
  #reflow = null // lays lines out for other columns
  #unused = 0 // pixels of the pane below the output
  #full = false
  #leaveEnd = () => {}
  #marked = null // the decoration of the line that was jumped to
  transcript = null // a Transcript, once the user has asked for one
  #old = null // a picture of the output of the last src
  #oldSheets = [] // its style sheets

  constructor(parts, root, host) {
    this.#parts = parts
    this.#root = root
    this.#host = host
    host.on(parts.wrap, 'click', () => {
      parts.wrap.setAttribute('aria-pressed', !this.#wraps)
      this.fit()
    })
    parts.reader.setAttribute('aria-pressed', kept('acpTerminalReader') === 'true')
    host.on(parts.reader, 'click', () => {
      parts.reader.setAttribute('aria-pressed', kept('acpTerminalReader', !this.#forReaders))
      this.#showReader()
    })
    host.on(parts.gutter, 'keydown', async event => {
      const { key } = event
      if (key === 'Escape' && host.line()) event.stopPropagation() // which would close the find bar
      if (/^(Arrow|Page|Home|End)/.test(key)) event.preventDefault()
      const { pickLine } = await host.load(host.signal()) ?? {}
      pickLine?.(this, host, key)
    })
    host.on(parts.screen, 'scroll', () => this.#showCut())
    for (const type of ['wheel', 'touchstart', 'pointerdown'])
      parts.screen.addEventListener(type, () => this.leaveEnd(), { capture: true, passive: true, signal: host.stopped })
  }

  get following() {
    const buffer = this.xterm?.buffer.active
    return !buffer || !this.#host.shown() && buffer.viewportY >= buffer.baseY
  }

  get kind() { return this.#host.row()?.pty ? 'pty' : 'pipe' }

  // full means that the screen and its scrollback had no more room after some output. They may have got more rows since.
  get full() { return this.#full ||= this.xterm.buffer.normal.length >= scrollback + this.xterm.rows }

  // reset removes all output.
  reset() {
    this.xterm.reset()
    this.#full = false
  }

  get text() { return this.xterm ? textOfAll(this.xterm) : '' }

  // lastLine is the row with the cursor, such as a question.
  get lastLine() {
    const active = this.xterm?.buffer.active
    return active?.getLine(active.baseY + active.cursorY)?.translateToString(true).trim() ?? ''
  }

  // make makes an xterm.js that is not shown.
  make(cols) {
    const xterm = new Terminal({
      allowProposedApi: true, // for decorations
      ...kinds.pipe, // until the row is known
      cols, rows: 24, disableStdin: true, // listen handles the user's input
      fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", "Liberation Mono", monospace', fontSize: fontSize(),
      linkHandler: null, logLevel: 'off', minimumContrastRatio: matchMedia('(prefers-contrast: more)').matches ? 7 : 4.9, // 4.5 on a linked line
      scrollback, theme: themes(this.#host.dark()), windowOptions: {},
    })
    makeInert(xterm, () => this.kind)
    if (this.#wrapLines) this.#setLines(xterm)
    if (this.#widths) this.#setWidths(xterm)
    return xterm
  }

  #setWidths(xterm) {
    xterm.loadAddon(new this.#widths())
    xterm.unicode.activeVersion = '11'
  }

  // lacksWidths reports whether a text needs the widths of emoji.
  lacksWidths(text) { return !this.#widths && mayBeWide.test(text) }

  addWidths(addon) {
    this.#widths = addon
    this.#setWidths(this.xterm)
  }

  // lacksLines reports whether a text writes lines again, or has one that is too long for a row. begun is the length of the
  // line before the text.
  lacksLines(text, begun) {
    return !this.#wrapLines && this.kind === 'pipe' && (redraws.test(text) || hasLonger(text, begun, this.xterm.cols))
  }

  addLines(wrapLines) {
    this.#wrapLines = wrapLines
    this.#setLines(this.xterm)
  }

  // setLines uses internals of the vendored version 6.0.0.
  #setLines(xterm) {
    const handler = xterm._core._inputHandler
    const reflow = this.#wrapLines(xterm, () => this.kind === 'pipe', {
      handler, parser: handler._parser, buffer: () => handler._activeBuffer,
      erase: y => {
        handler._eraseInBufferLine(y, 0, xterm.cols, true)
        handler._dirtyRowTracker.markDirty(y)
      },
      goOn: () => {
        const buffer = handler._activeBuffer
        if (buffer.y++ === buffer.scrollBottom) {
          buffer.y--
          handler._bufferService.scroll(handler._eraseAttrData(), true)
        } else {
          buffer.y = Math.min(buffer.y, xterm.rows - 1)
          buffer.lines.get(buffer.ybase + buffer.y).isWrapped = true
        }
      },
      move: to => this.numbers?.rows.move(to),
    })
    if (!this.xterm || xterm === this.xterm) this.#reflow = reflow // of the screen that is shown
  }

  // open makes a new xterm.js for each src, because the old one may have queued output.
  open() {
    const p = this.#parts
    this.#sheets ??= [...this.#root.adoptedStyleSheets]
    const xterm = this.xterm = this.make(80)
    xterm.registerLinkProvider({
      provideLinks: async (y, callback) => { // at once, if it can
        const { linksAt } = this.#host.later() ?? await this.#host.load(this.#host.signal()) ?? {}
        callback(linksAt?.(xterm, y - 1, this.#host))
      },
    })
    openStyled(xterm, p.screen, this.#root)
    drawOnce(xterm)
    xterm.onRender(() => {
      this.#showToEnd()
      this.showEnd()
      this.#drawn ||= hasRows(xterm)
      if (this.#old && this.#drawn) this.drop()
    })
    let quiet = 0 // a timer; after a pause, screen readers read again what xterm.js would leave out after 20 lines
    xterm.onWriteParsed(() => {
      clearTimeout(quiet)
      if (xterm.options.screenReaderMode) quiet = setTimeout(() => xterm._core._accessibilityManager.value?._clearLiveRegion(), 3000)
    })
    this.numbers = new Numbers(xterm, p.gutter, number => this.#host.pick(number))
    return xterm
  }

  // keep leaves a picture of the output until drop, because the next src may have to be waited for.
  keep() {
    const { gutter, screen } = this.#parts, rows = this.xterm?.element?.querySelector('.xterm-rows')
    if (!rows?.checkVisibility() || this.#old) return
    const copies = [gutter, rows].map(part => {
      const { x, y, width, height } = part.getBoundingClientRect(), { x: left, y: top } = screen.parentNode.getBoundingClientRect()
      const copy = /** @type {HTMLElement} */ (part.cloneNode(true))
      Object.assign(copy.style, { position: 'absolute', left: `${x - left}px`, top: `${y - top}px`, width: `${width}px`, height: `${height}px` })
      return copy
    })
    this.#old = element('div', { class: `old ${this.xterm.element.className}`, ariaHidden: 'true', inert: true }, ...copies)
    this.#oldSheets = this.#root.adoptedStyleSheets.slice(this.#sheets.length)
    screen.parentNode.append(this.#old)
  }

  // drop removes the picture.
  drop() {
    this.#old?.remove()
    const old = this.#oldSheets
    if (old.length) this.#root.adoptedStyleSheets = this.#root.adoptedStyleSheets.filter(sheet => !old.includes(sheet))
    this.#old = null
    this.#oldSheets = []
    this.showEnd()
  }

  // close removes the xterm.js, which may have queued output.
  close() {
    const p = this.#parts
    this.leaveEnd()
    this.unmark()
    this.transcript?.close()
    this.xterm?.dispose()
    this.xterm = this.numbers = this.#reflow = null
    this.#visible = this.#full = this.#drawn = false
    if (this.#sheets) this.#root.adoptedStyleSheets = [...this.#sheets, ...this.#oldSheets]
    p.gutter.textContent = ''
    p.toEnd.classList.add('off')
  }

  // clear removes what belongs to a command.
  clear() {
    const { screen, gutter } = this.#parts
    this.transcript?.clear()
    screen.classList.remove('pty')
    gutter.hidden = false
  }

  // makeRoom makes room for a whole Window of the History.
  makeRoom() { this.xterm.options.scrollback = 2 * scrollback }

  // hold keeps what is in view, if that is output, until release. This uses internals of the vendored version 6.0.0.
  hold() {
    if (!this.#drawn) return
    const service = this.xterm._core._renderService, renderer = service._renderer.value
    service._isPaused = this.numbers.held = true
    renderer.clear = renderer.renderRows = () => {} // a reset and a selection do not look whether rendering is paused
  }

  release() {
    if (!this.numbers.held) return
    const service = this.xterm._core._renderService, renderer = service._renderer.value
    service._isPaused = this.numbers.held = false
    delete renderer.clear
    delete renderer.renderRows
    service._pausedResizeTask.flush() // xterm.js puts a resize off while rendering is paused
    this.xterm.refresh(0, this.xterm.rows - 1)
  }

  // setKind sets up the screen for a command with or without a PTY.
  setKind() {
    const { pty } = this.#host.row()
    Object.assign(this.xterm.options, kinds[this.kind], { fontSize: fontSize(), theme: themes(this.#host.dark(), pty) })
    if (pty) this.xterm.write('\x1b[?1047l') // shows the cursor, as xterm.js otherwise does on the first focus
    this.#parts.screen.classList.toggle('pty', !!pty)
    this.#parts.gutter.hidden = !!pty
    this.#parts.wrap.textContent = pty ? 'Fit' : 'Wrap'
    this.#parts.wrap.title = pty ? 'Fit the terminal to the width of the window' : 'Wrap long lines to the width of the window'
    this.fit()
    this.#showReader()
  }

  // focus gives the focus to the output.
  focus() { if (!this.reads || !this.transcript?.focus()) this.xterm?.focus() }

  // reads means that the output has a Transcript.
  get reads() { return this.#forReaders && this.kind === 'pipe' }

  get #forReaders() { return this.#parts.reader.getAttribute('aria-pressed') === 'true' }

  // showReader makes the output readable for screen readers, if the user wants that. They then also read new output.
  async #showReader() {
    const { xterm } = this
    if (!xterm) return
    xterm.options.screenReaderMode = this.#forReaders && !this.reads
    xterm.refresh(0, xterm.rows - 1)
    const { Transcript } = this.reads ? await this.#host.load(this.#host.signal()) ?? {} : {}
    if (Transcript) this.transcript ??= new Transcript(this, this.#parts.screen, this.#host)
    if (this.reads) this.transcript?.open()
    else this.transcript?.clear()
  }

  showTheme() {
    if (!this.xterm) return
    this.xterm.options.theme = themes(this.#host.dark(), this.#host.row()?.pty)
  }

  // fit fits the screen to its pane. A screen at the end stays there, and another keeps the line at its top.
  fit() {
    if (!this.xterm?.element) return
    const { following } = this
    const { screen, wrap } = this.#parts
    const appears = !this.#visible && isVisible(screen)
    this.#visible = isVisible(screen)
    const font = this.#host.keepSize()
    const selection = this.xterm.getSelectionPosition(), { cols, buffer: { active } } = this.xterm
    const keeps = !following || this.#host.shown()
    let top = active.viewportY
    while (active.getLine(top)?.isWrapped) top--
    const rest = active.viewportY - top, place = keeps && markerAt(this.xterm, top)
    const fitted = () => fit(this.xterm, screen, this.#host.row()?.pty ? this.#host.row() : null, this.#wraps, font, this.#reflow)
    let narrow = fitted()
    if (this.#visible && measure(this.xterm, appears || this.xterm.cols !== cols)) narrow = fitted()
    this.#showCut()
    wrap.hidden = !narrow || screen.classList.contains('unused')
    // xterm.js clears the selection, and Control C would then interrupt the command instead of copying.
    if (selection && this.xterm.cols === cols) this.select(selection)
    if (this.#marked?.marker.line >= 0 && this.xterm.cols !== cols) this.mark(this.#marked.marker.line)
    this.numbers?.fit()
    this.#sync()
    if (keeps) {
      if (place) this.xterm.scrollToLine(place.line + Math.round(rest * cols / this.xterm.cols)) // xterm.js keeps the last row
      return place?.dispose()
    }
    this.xterm.scrollToBottom()
    if (appears) this.#stayAtEnd(this.xterm)
  }

  // showCut shows whether the pane has more at the right.
  #showCut() {
    const { screen } = this.#parts
    screen.classList.toggle('cut-off', screen.scrollWidth - screen.clientWidth - screen.scrollLeft > 1)
  }

  // sync moves the scrollbar to what is in view, which xterm.js otherwise does later. It scrolls by the scrollbar. This uses
  // internals of the vendored version 6.0.0.
  #sync() {
    const viewport = this.xterm._core._viewport
    viewport._latestYDisp = undefined
    viewport._sync(this.xterm.buffer.active.viewportY)
  }

  // stayAtEnd keeps a screen that appears at the end for a while, or until the user or a jump scrolls. xterm.js first
  // scrolls it by the height that it had while it was hidden.
  #stayAtEnd(xterm) {
    this.leaveEnd()
    let steady = 0
    const stay = () => {
      this.#showToEnd()
      if (this.following ? ++steady > 5 : this.#host.shown()) return this.leaveEnd()
      if (this.following) return
      steady = 0
      this.#sync()
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

  // reveal scrolls to the line that begins in a row, and marks it.
  reveal(row) {
    this.leaveEnd()
    this.mark(row)
    this.xterm.scrollToLine(Math.max(0, row - Math.floor(this.xterm.rows / 3)))
  }

  // mark marks the line that begins in a row.
  mark(row) {
    const { xterm } = this
    let last = row
    while (xterm.buffer.active.getLine(last + 1)?.isWrapped) last++
    this.unmark()
    const marker = markerAt(xterm, row)
    const mark = marker && xterm.registerDecoration({ marker, width: xterm.cols, height: last - row + 1 })
    mark?.onRender(shown => shown.classList.add('marked'))
    this.#marked = mark
    const { gutter } = this.#parts, number = this.numbers.of(row)
    gutter.setAttribute('aria-valuenow', number)
    gutter.setAttribute('aria-valuemax', this.#host.shown()?.history.lines ?? this.numbers.last)
    gutter.setAttribute('aria-valuetext', `${number}: ${xterm.buffer.active.getLine(row).translateToString(true)}`)
  }

  unmark() {
    this.#parts.gutter.setAttribute('aria-valuetext', 'none')
    this.#marked?.dispose()
    this.#marked = null
  }

  // leaveEnd lets a screen that has appeared scroll.
  leaveEnd() { this.#leaveEnd() }

  // showEnd ends the pane below the output, unless that has more than fits.
  showEnd() {
    const { box, message } = this.#parts, { xterm } = this
    let unused = 0
    if (xterm?.element && this.#visible && this.kind === 'pipe' && !xterm.buffer.active.baseY && !this.#old) {
      const { height } = cell(xterm)
      const used = Math.max(leastRows, lastRow(xterm) + 1, Math.ceil((message.offsetHeight + 16) / height))
      unused = Math.max(0, Math.floor((xterm.rows - used) * height))
    }
    if (this.#unused !== unused) box.style.setProperty('--unused', `${this.#unused = unused}px`)
  }

  #showToEnd() { this.#parts.toEnd.classList.toggle('off', this.following) }

  // select restores a selection, moved down by some rows. It clears the selection if that is not on the screen.
  select(selection, by = 0) {
    if (!(selection?.start.y + by >= 0)) return this.xterm.clearSelection()
    const { start, end } = selection
    this.xterm.select(start.x, start.y + by, (end.y - start.y) * this.xterm.cols + end.x - start.x)
  }

  selected() {
    const selection = this.xterm?.getSelectionPosition()
    return selection ? textOf(this.xterm, selection) : ''
  }

  // markedLine is the number of the marked line, if one is marked.
  get markedLine() { return this.#marked && this.numbers.of(this.#marked.marker.line) }

  get #wraps() { return this.#parts.wrap.getAttribute('aria-pressed') === 'true' }
}
