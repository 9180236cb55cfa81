// The size of the screen: a terminal with a PTY has its own size, any other one has the size of its pane.

// Commands that write to a pipe often format for 80 columns. In a narrower pane, lines wrap, or the pane scrolls.
const minColumns = 80
const scrollbarWidth = 14

// A PTY is scaled to its pane, between these font sizes, of which the first is for one that has to fit. If it is still too
// large, the pane scrolls.
const leastFontSize = 4
const minFontSize = 9
const maxFontSize = 15

// isVisible reports whether a pane has room. A screen is not fitted to a panel that is folded to no width.
export const isVisible = pane => pane.clientWidth > 0 && pane.clientHeight > 0

export const fontSize = () => matchMedia('(max-width: 600px)').matches ? 12 : 13

// fit adjusts an open terminal and its pane to each other. size contains the columns and rows of a PTY, and is null
// without one. wrap makes lines wrap in a pane that is narrower than a command expects, or a PTY fit into it. fit reports
// whether it is. font is
// the size of a PTY's text, which gets smaller until the PTY fits; 0 chooses the best one. reflow, if not null, lays the
// lines out for other columns.
export function fit(xterm, pane, size, wrap, font, reflow) {
  if (!isVisible(pane) || !cell(xterm).height) return false
  const frame = pane.firstChild
  if (!size) {
    const { width, height } = cell(xterm)
    const columns = Math.floor((pane.clientWidth - scrollbarWidth) / width)
    const least = wrap ? 2 : minColumns
    resize(xterm, Math.max(least, columns), Math.max(2, Math.floor(pane.clientHeight / height)), reflow)
    frame.style.width = columns < least ? `${least * width + scrollbarWidth}px` : ''
    return columns < minColumns
  }
  const [borderX, borderY] = pane.classList.contains('fills') ? [0, 2] : [16, 16] // with the space within them
  xterm.resize(size.columns, size.rows)
  xterm.options.fontSize = fontSize()
  const { width, height } = cell(xterm)
  const byWidth = fontSize() * (pane.offsetWidth - scrollbarWidth - borderX) / (size.columns * width)
  const byHeight = fontSize() * (pane.offsetHeight - borderY) / (size.rows * height)
  const least = wrap ? leastFontSize : minFontSize
  const best = Math.min(maxFontSize, byHeight, byWidth < least ? fontSize() : byWidth)
  const wide = () => Math.ceil(size.columns * cell(xterm).width) + scrollbarWidth
  const tooLarge = () => byWidth >= least && wide() > pane.offsetWidth - borderX || size.rows * cell(xterm).height > pane.offsetHeight - borderY
  font ||= Math.max(least, Math.floor(best))
  xterm.options.fontSize = font
  while (font > least && tooLarge()) xterm.options.fontSize = --font // the size of a character is rounded
  frame.style.width = `${wide()}px`
  return byWidth < minFontSize
}

// resize resizes a terminal without a PTY. If that wraps lines again and drops rows, xterm.js moves markers too far: by the
// rows that it would have added to the dropped ones. This uses internals of the vendored version 6.0.0.
function resize(xterm, columns, rows, reflow) {
  const { buffer } = xterm._core
  if (reflow) buffer._reflow = (columns, rows) => { if (columns !== buffer._cols) reflow(columns, rows) }
  const { lines, ybase, y } = xterm._core.buffer, { onTrimEmitter } = lines
  const marker = xterm.registerMarker(0), line = lines.get(ybase + y), { fire } = onTrimEmitter
  onTrimEmitter.fire = () => {
    let row = marker.line
    while (row >= 0 && lines.get(row) !== line) row--
    fire.call(onTrimEmitter, marker.line - row)
  }
  xterm.resize(columns, rows)
  delete onTrimEmitter.fire
  marker.dispose()
}

// sizeOf returns the columns and rows of a PTY that fills a pane with a font size, or null while it is not visible.
export function sizeOf(xterm, pane, font) {
  xterm.options.fontSize = font
  if (!isVisible(pane) || !cell(xterm).height) return null
  const { width, height } = cell(xterm)
  return {
    columns: Math.min(maxSize, Math.max(20, Math.floor((pane.offsetWidth - scrollbarWidth) / width))),
    rows: Math.min(maxSize, Math.max(5, Math.floor((pane.offsetHeight - 2) / height))),
  }
}

const maxSize = 1000 // allowed by the server

// cell returns the size of a character. The screen's elements do not tell it: while a terminal is out of view, xterm.js
// leaves them as they were. This uses internals of the vendored version 6.0.0, as measure does.
export function cell(xterm) { return xterm._core._renderService.dimensions.css.cell }

// measure measures characters again if the terminal has changed: it appears, and in a hidden pane they have no width; or
// it has other columns, to which their width is rounded. xterm.js also puts it off until the terminal comes into view.
// measure reports whether it has.
export function measure(xterm, changed) {
  const service = xterm._core._renderService, due = changed || service._isPaused
  if (due) service.handleCharSizeChanged()
  return due
}
