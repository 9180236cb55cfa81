// Lines that wrap at words, and go on with an indent. xterm.js wraps within words. The cells before the indent, and those
// after the last word of a row, stay empty, as lines.js expects.

// wrapWords does so for a terminal while applies() is true. The others are internals of xterm.js: the handler of input,
// the buffer, a function that moves the cursor to a row that goes on with the line, and one that learns by row where the
// rows are after others have been laid out. It returns two functions: pack removes the gaps of the line that begins in a
// row of the screen, because the command writes it again, and reflow lays all lines out for other columns.
export function wrapWords(xterm, applies, { handler, buffer, goOn, move }) {
  const { print } = handler
  const rowAt = y => buffer().lines.get(buffer().ybase + y)

  handler.print = (text, from, to) => {
    if (to - from <= xterm.cols - buffer().x || !applies()) return print.call(handler, text, from, to)
    for (let at = from; at < to;) {
      if (xterm.cols <= buffer().x && text[at] < 0x300) wrap(text[at] === 32) // others may join the last character
      const end = Math.min(to, at + Math.max(1, xterm.cols - buffer().x))
      print.call(handler, text, at, end)
      at = end
    }
  }

  // wrap goes on in the next row, with the word at the end of this one, unless a space follows it.
  function wrap(space) {
    const row = rowAt(buffer().y)
    goOn()
    buffer().x = goOnWith(row, rowAt(buffer().y), xterm.cols, space, buffer().getNullCell())
  }

  function pack(first) {
    let y = first, x = endOf(rowAt(y))
    for (let from = first + 1; rowAt(from)?.isWrapped; from++) {
      const row = rowAt(from), end = endOf(row)
      for (let at = emptyBefore(row); at < end; at++) {
        if (x === xterm.cols) [y, x] = [y + 1, 0]
        rowAt(y).copyCellsFrom(row, at, x++, 1, false)
      }
      row.replaceCells(y < from ? 0 : x, xterm.cols, buffer().getNullCell())
    }
  }

  function reflow(cols, rows) {
    const b = buffer(), { lines } = b, cursor = b.ybase + b.y, atEnd = b.ydisp === b.ybase
    const all = [], to = []
    for (let y = 0, end; y < lines.length; y = end) {
      const first = all.length
      for (end = y + 1; lines.get(end)?.isWrapped;) end++
      const before = Array.from({ length: end - y }, (_, at) => lines.get(y + at))
      if (end === y + 1 && endOf(before[0]) <= cols) all.push(before[0])
      else all.push(...layOut(before, cols, b))
      for (; to.length < end;) to.push(to.length === end - 1 ? all.length - 1 : Math.min(first + to.length - y, all.length - 1))
    }
    let last = to[cursor]
    if (b.x && all[last] !== lines.get(cursor)) b.x = endOf(all[last])
    for (let y = last + 1; y < all.length; y++) if (endOf(all[y])) last = y
    all.length = Math.min(all.length, last + 1)
    while (all.length < rows) all.push(b.getBlankLine(b.getNullCell()))
    const dropped = Math.max(0, all.length - lines.maxLength)
    all.splice(0, dropped)
    to.forEach((row, at) => { to[at] = row - dropped })
    lines.length = all.length
    all.forEach((row, at) => lines.set(at, row))
    for (const marker of [...b.markers]) {
      if (to[marker.line] >= 0) marker.line = to[marker.line]
      else marker.dispose()
    }
    move(to)
    b.ybase = all.length - rows
    b.y = Math.max(0, to[cursor] - b.ybase)
    b.ydisp = atEnd ? b.ybase : Math.min(b.ybase, Math.max(0, to[b.ydisp] ?? 0))
  }

  return { pack, reflow }
}

// layOut returns rows for the line of other rows.
function layOut(before, cols, b) {
  const empty = b.getNullCell(), rows = [b.getBlankLine(empty)]
  let x = 0
  before.forEach((row, at) => {
    const end = endOf(row)
    for (let from = at ? emptyBefore(row) : 0; from < end;) {
      if (x >= cols) {
        const next = b.getBlankLine(empty, true)
        x = goOnWith(rows.at(-1), next, cols, row.getCodePoint(from) === 32, empty)
        rows.push(next)
      }
      let count = Math.min(end - from, cols - x)
      if (cols > 3 && from + count < end && !row.getWidth(from + count)) count-- // a wide character
      rows.at(-1).copyCellsFrom(row, from, x, count, false)
      from += count
      x = from < end && count < cols - x ? cols : x + count
    }
  })
  for (const row of rows) row.resize(cols, empty)
  return rows
}

// goOnWith moves the word at the end of a full row to the next one, after an indent, unless a space follows it. It returns
// the column after the word.
function goOnWith(row, next, cols, space, empty) {
  const before = emptyBefore(row)
  const begin = row.isWrapped ? before + isSpace(row, before) : blanksBefore(row)
  const indent = row.isWrapped ? begin : Math.min(begin + 2, Math.floor(cols / 3))
  const end = endOf(row) // one less than cols if a wide character does not fit
  let word = end
  while (!space && word > begin && !isSpace(row, word - 1)) word--
  if (word <= begin || end - word > cols / 2) word = end
  next.replaceCells(0, indent, empty)
  next.copyCellsFrom(row, word, indent, end - word, false)
  row.replaceCells(word, cols, empty)
  return indent + end - word - Number(space) // a space has a cell of the indent
}

const isSpace = (row, x) => Number(row.getCodePoint(x) === 32)

// emptyBefore returns how many cells of a row are empty before its text, and blanksBefore how many are empty or spaces.
function emptyBefore(row) {
  let x = 0
  while (x < row.length && !row.getCodePoint(x) && row.getWidth(x)) x++
  return x < row.length ? x : 0
}

function blanksBefore(row) {
  let x = 0
  while (x < row.length && (!row.getCodePoint(x) || isSpace(row, x))) x++
  return x < row.length ? x : 0
}

// endOf returns the column after the last text of a row.
function endOf(row) {
  let x = row.length
  while (x > 0 && !row.getCodePoint(x - 1) && row.getWidth(x - 1)) x--
  return x
}
