// The size of the screen: a terminal with a PTY has its own size, any other one has the size of its pane.

// Commands that write to a pipe often format for 80 columns. A narrower pane scrolls.
const minColumns = 80
const scrollbarWidth = 14

// minFontSize is the smallest font size for a PTY that does not fit its pane. If it is still too large, the pane
// scrolls.
const minFontSize = 9

export const fontSize = () => matchMedia('(max-width: 600px)').matches ? 12 : 13

// fit adjusts an open terminal and its pane to each other. size contains the columns and rows of a PTY, and is null
// without one. wrap makes lines wrap in a pane that is narrower than a command expects.
export function fit(xterm, pane, size, wrap) {
  if (!cell(xterm) || !pane.clientHeight) return
  const frame = pane.firstChild
  if (!size) {
    const { width, height } = cell(xterm)
    const columns = Math.floor((pane.clientWidth - scrollbarWidth) / width)
    const least = wrap ? 2 : minColumns
    xterm.resize(Math.max(least, columns), Math.max(2, Math.floor(pane.clientHeight / height)))
    frame.style.width = columns < least ? `${least * width + scrollbarWidth}px` : ''
    return
  }
  xterm.resize(size.columns, size.rows)
  xterm.options.fontSize = fontSize()
  const { width, height } = cell(xterm)
  const byWidth = fontSize() * (pane.offsetWidth - scrollbarWidth) / (size.columns * width)
  const byHeight = fontSize() * pane.offsetHeight / (size.rows * height)
  const best = Math.min(fontSize(), byHeight, byWidth < minFontSize ? Infinity : byWidth)
  xterm.options.fontSize = Math.max(minFontSize, Math.floor(best))
  frame.style.width = `${Math.ceil(size.columns * cell(xterm).width) + scrollbarWidth}px`
}

// cell returns the size of a character, or null while the terminal is not visible.
function cell(xterm) {
  const screen = xterm.element.querySelector('.xterm-screen')
  if (!screen.offsetWidth) return null
  return { width: screen.offsetWidth / xterm.cols, height: screen.offsetHeight / xterm.rows }
}
