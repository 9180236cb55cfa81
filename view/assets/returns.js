// Lines that a command writes again, such as those of a progress bar, also if they wrap on the screen: a carriage
// return goes to the start of the line, not of its last row. Other lines wrap at words.
import { wrapWords } from './words.js'

// wrapLines does so for a terminal while applies() is true. The others are internals of xterm.js: the handler of input,
// its parser, the buffer, a function that erases a row, and one that goes on with the line in the next row.
// It returns a function that lays all lines out for other columns; move learns where the rows are then.
export function wrapLines(xterm, applies, { handler, parser, buffer, erase, goOn, move }) {
  const isWrapped = y => !!buffer().lines.get(buffer().ybase + y)?.isWrapped
  let returned = false // a carriage return came last
  let again = false // the line is written again
  let moves = false // the command goes up to lines
  const { pack, reflow } = wrapWords(xterm, () => applies() && !again && !moves, { handler, buffer, goOn, move })

  // toStart moves to the first row of the line, without gaps between its words, and toEnd to the last one.
  const toStart = () => {
    const { y } = buffer()
    while (buffer().y > 0 && isWrapped(buffer().y)) buffer().y--
    if (buffer().y < y) pack(buffer().y)
    again = true
  }
  const toEnd = () => { while (buffer().y < xterm.rows - 1 && isWrapped(buffer().y + 1)) buffer().y++ }
  const onReturned = () => {
    if (returned) toStart()
    returned = false
  }

  parser.setExecuteHandler('\r', () => {
    returned = applies()
    return handler.carriageReturn()
  })
  parser.setExecuteHandler('\n', () => {
    returned = again = false
    if (applies()) toEnd()
    return handler.lineFeed()
  })
  parser.setPrintHandler((text, from, to) => {
    onReturned()
    handler.print(text, from, to)
  })
  const on = (final, change) => xterm.parser.registerCsiHandler({ final }, ([count]) => applies() && !!change(count))
  on('J', onReturned) // erases below
  on('K', what => { // erases the rest of the line, or all of it
    if (what === 2) toStart()
    else onReturned()
    for (let y = buffer().y + 1; what !== 1 && y < xterm.rows && isWrapped(y); y++) erase(y)
  })
  on('A', count => { // up
    moves = true
    for (let i = Math.max(1, count); i > 0; i--) {
      toStart()
      if (buffer().y > 0) buffer().y--
    }
    toStart()
    return true
  })
  on('B', count => { // down
    for (let i = Math.max(1, count); i > 0; i--) {
      toEnd()
      if (buffer().y < xterm.rows - 1) buffer().y++
    }
    return true
  })
  return reflow
}
