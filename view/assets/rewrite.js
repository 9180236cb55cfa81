// Writing the output again, with other groups folded.

// readable resolves to whether the output can be read again.
export async function readable(screen, host) {
  const signal = host.signal()
  const request = screen.kind === 'pty' ? 'text' : `times?from=${host.row().bytes}`
  const { ok } = await fetch(`${host.src()}/${request}`, { signal, method: 'HEAD' }).catch(() => ({ ok: false }))
  return ok
}

// again writes the output again, and keeps the line at the top and the mark of the linked line.
export async function again(screen, reading, host) {
  const { xterm, numbers, following } = screen
  if (!xterm || reading.moving) return
  const { viewportY } = xterm.buffer.active
  if (reading.shown) {
    const seeker = await reading.seeker()
    await seeker.show(reading.shown.history, reading.shown.last, viewportY)
  } else {
    const top = following ? 0 : numbers.of(viewportY)
    reading.keeps = true
    await host.reload()
    reading.keeps = false
    const row = top && screen.numbers ? screen.numbers.rowOf(top) : -1 // no numbers once the element is removed
    if (row >= 0) {
      screen.leaveEnd()
      screen.xterm.scrollToLine(row)
    }
  }
  markLine(screen, host)
}

// markLine marks the linked line, if it is on the screen, without scrolling to it.
export function markLine(screen, host) {
  const line = Number(host.line()), { numbers } = screen
  const row = line && numbers ? numbers.rowOf(line) : -1
  if (row >= 0 && numbers.of(row) === line) screen.mark(row)
}
