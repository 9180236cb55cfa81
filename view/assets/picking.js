// Links to lines by the keyboard.

// pickLine handles a key that was pressed beside the lines. Escape removes the link. Others link to the line a number of
// lines from the linked one, or else to the first line in view, and to the next line instead of one without a row, such as
// the mark of a group's end.
export function pickLine({ numbers, xterm }, host, key) {
  if (key === 'Escape' && host.line()) host.pick(0)
  const page = xterm?.rows
  const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[key]
  if (!step || !numbers?.known) return
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
