// Places on a screen that follow their rows while others are dropped, added and removed. Markers of xterm.js do so too,
// but each of them looks at each dropped row.

export class Rows {
  #xterm
  #lines = null // of xterm.js, which has others after a reset
  #dropped = 0 // rows
  #places = [] // in order, without those that were dropped long ago

  constructor(xterm) { this.#xterm = xterm }

  // dropped is how many rows were dropped before the first one.
  get dropped() { return this.#dropped }

  // at returns a Place of a row, by default of the cursor's.
  at(row = cursorRow(this.#xterm)) {
    this.#listen()
    if (this.#places.length > 100 && this.#places[this.#places.length >> 1].line < 0) this.#places.splice(0, this.#places.length >> 1)
    const place = new Place(this, row + this.#dropped)
    this.#places.push(place)
    return place
  }

  forget(place) {
    const at = this.#places.lastIndexOf(place)
    if (at >= 0) this.#places.splice(at, 1)
  }

  // move says that the rows are in other places, which an array tells by row.
  move(to) {
    this.#listen()
    for (const place of [...this.#places]) {
      const row = place.line < 0 ? -1 : to[place.line] ?? -1
      if (row < 0) place.dispose()
      else place.at = row + this.#dropped
    }
  }

  // listen uses internals of the vendored version 6.0.0.
  #listen() {
    const { lines } = this.#xterm._core.buffers.normal
    if (this.#lines === lines) return
    this.#lines = lines
    for (const place of this.#places.splice(0)) place.dispose()
    lines.onTrim(amount => { this.#dropped += amount })
    lines.onInsert(({ index, amount }) => this.#shift(index + this.#dropped, amount))
    lines.onDelete(({ index, amount }) => this.#shift(index + this.#dropped, -amount))
  }

  // shift moves the places from one on, and forgets those in removed rows.
  #shift(from, by) {
    this.#places = this.#places.filter(place => {
      if (place.at < from) return true
      place.at = place.at < from - by ? -Infinity : place.at + by
      return place.at >= 0
    })
  }
}

class Place {
  at // number of the row, counting those that were dropped
  #rows

  constructor(rows, at) {
    this.#rows = rows
    this.at = at
  }

  // line is the row, or -1 if that was dropped or removed.
  get line() { return Math.max(-1, this.at - this.#rows.dropped) }

  dispose() {
    this.at = -Infinity
    this.#rows.forget(this)
  }
}

const cursorRow = ({ buffer: { active } }) => active.baseY + active.cursorY
