// Links to lines by the keyboard.

// picker returns a function for the keys that are pressed beside the lines of a screen. Escape removes the link.
export function picker(screen, host) {
  return event => {
    const page = screen.xterm?.rows
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[event.key]
    if (event.key === 'Escape' && host.line()) {
      event.stopPropagation() // which would close the find bar
      host.pick(0)
    }
    if (!step || !screen.numbers?.known) return
    event.preventDefault()
    pickLine(screen, host, step)
  }
}

// pickLine links to the line a number of lines from the linked one, or else to the first line in view. It links to the next
// line instead of one without a row, such as the mark of a group's end.
function pickLine({ numbers, xterm }, host, step) {
  const buffer = xterm.buffer.active
  const linked = Number(host.line()), last = host.shown()?.history.lines ?? numbers.last
  let number = numbers.of(buffer.viewportY)
  if (linked || !Number.isFinite(step)) number = Math.min(Math.max(1, linked + step), last)
  const row = numbers.rowOf(number)
  if (row >= 0 && numbers.of(row) !== number) {
    let next = row + 1
    while (step > 0 && buffer.getLine(next)?.isWrapped) next++
    number = numbers.of(step > 0 ? next : row)
  }
  if (number) host.pick(number)
}
