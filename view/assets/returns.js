// Lines that a command writes again, such as those of a progress bar, also if they wrap on the screen: a carriage
// return goes to the start of the line, not of its last row.

// wrapReturns does so for a terminal while applies() is true. The others are internals of xterm.js: the handler of input,
// its parser, the buffer, and a function that erases a row.
export function wrapReturns(xterm, applies, { handler, parser, buffer, erase }) {
  const isWrapped = y => !!buffer().lines.get(buffer().ybase + y)?.isWrapped
  let returned = false // a carriage return came last

  // toStart moves to the first row of the line, and toEnd to the last one.
  const toStart = () => { while (buffer().y > 0 && isWrapped(buffer().y)) buffer().y-- }
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
    returned = false
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
}
