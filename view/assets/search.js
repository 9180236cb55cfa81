// Finding text in the output on the screen: a pattern, its matches, and their marks.
import { bisect } from './bisect.js'
import { linesOf, markerAt, placesOf, textOf } from './lines.js'
import { Ruler } from './ruler.js'

const word = String.raw`[\p{L}\p{M}\p{N}_]`
const edge = `(?:(?<!${word})|(?!${word}))`
const otherEdge = `(?:(?!${word})|(?<!${word}))`
const rescanDelay = 250 // milliseconds after output
const maxMarks = 2000 // in view; each is an element of the page

// patternOf returns the expression for a text, or null for an empty one. It throws a SyntaxError. As in VS Code, only
// an end of the text that is part of a word must be an end of one.
export function patternOf(text, { matchCase = false, wholeWord = false, regex = false } = {}) {
  if (!text) return null
  let source = regex ? text : text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (wholeWord) source = `${edge}(?:${source})${otherEdge}`
  const flags = matchCase ? 'g' : 'gi'
  try {
    return Object.assign(new RegExp(source, flags + 'u'), { literal: !regex })
  } catch (error) {
    if (wholeWord) throw error
    return new RegExp(source, flags) // allows more, such as "\-"
  }
}

// matchesIn yields the place and length of each match in a line. Empty matches do not count.
export function* matchesIn(pattern, line) {
  for (const match of line.matchAll(pattern)) if (match[0]) yield { index: match.index, length: match[0].length }
}

// countIn returns the number of matches in a text of several lines.
export function countIn(pattern, text) {
  let count = 0
  if (pattern.literal) { // cannot match a line end
    for (const _ of text.matchAll(pattern)) count++
    return count
  }
  for (const line of text.split('\n')) for (const _ of matchesIn(pattern, line)) count++
  return count
}

// Search finds a pattern on a screen. It marks the matches in view, and one of them, the active one, more strongly.
export class Search {
  active = -1 // index of the active match, or -1
  #xterm
  #colors
  #onChange // called after the matches have changed, with the number of those that the screen has dropped
  #pattern = null
  #lines = null // of the screen, until it changes
  #matches = [] // { row, index, length, y, at }: the line's first row, the place in its text; the same for the match's row
  #mark = null // a marker at the active match's line
  #last = null // a marker at the last match's line
  #ruler
  #decorations = []
  #drawn = '' // what they show
  #version = 0 // of the matches
  #timer = 0

  constructor(xterm, colors, onChange) {
    this.#xterm = xterm
    this.#colors = colors
    this.#onChange = onChange
    this.#ruler = new Ruler(xterm)
    xterm.onRender(() => this.#draw())
    xterm.onWriteParsed(() => this.#later())
    xterm.onResize(() => this.#later())
  }

  get count() { return this.#matches.length }

  // row is the first row of the line with the active match, if there is one.
  get row() { return this.#matches[this.active]?.row }

  // text is the text of that line.
  get text() {
    let y = this.row
    while (this.#xterm.buffer.active.getLine(y + 1)?.isWrapped) y++
    return textOf(this.#xterm, { start: { x: 0, y: this.row }, end: { x: this.#xterm.cols, y } })
  }

  // next is the index of the first match in view or below, or count if there is none.
  get next() {
    const { viewportY } = this.#xterm.buffer.active
    return bisect(this.#matches, ({ y }) => y >= viewportY)
  }

  // set finds a pattern. The match at the place of the active one, or the next, becomes the active one.
  set(pattern) {
    if (String(pattern) === String(this.#pattern)) return
    const near = this.#matches[this.active]
    this.#pattern = pattern
    this.#scan()
    this.#activate(near ? this.#matches.findIndex(m => m.row > near.row || m.row === near.row && m.index >= near.index) : -1)
  }

  // redraw marks the matches again, in other colours.
  redraw() {
    this.#version++
    this.#draw()
    this.#drawRuler()
  }

  // rescan finds the pattern in a screen that has been written again. No match is active then.
  rescan() {
    this.#lines = null
    this.#activate(-1)
    this.#scan()
  }

  // show makes a match the active one. It scrolls to one out of view: a little, or else to the middle.
  show(index) {
    this.#activate(index)
    const { y } = this.#matches[index]
    const { rows, buffer: { active: { viewportY } } } = this.#xterm
    const by = Math.min(0, y - viewportY) + Math.max(0, y - viewportY - rows + 1) // rows out of view
    if (by) this.#xterm.scrollToLine(Math.abs(by) < rows / 4 ? Math.max(0, viewportY + by - Number(by < 0)) : Math.max(0, y - Math.floor(rows / 2)))
    this.#draw()
  }

  dispose() {
    clearTimeout(this.#timer)
    this.#pattern = null
    this.#ruler.remove()
  }

  #drawRuler() {
    const { active, place } = this.#colors()
    this.#ruler.draw(this.#matches.map(match => match.y), place, this.#matches[this.active]?.y, active.backgroundColor)
  }

  #activate(index) {
    this.#mark?.dispose()
    this.#mark = null
    this.active = index
    if (index >= 0) this.#mark = markerAt(this.#xterm, this.#matches[index].row)
    this.#version++
    this.#drawRuler()
  }

  #later() {
    this.#lines = null
    if (!this.#pattern || this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = 0
      if (!this.#pattern) return
      const { active, count } = this
      const before = this.#matches[active], row = this.#mark?.line
      const last = this.#matches.at(-1), lastRow = this.#last?.line
      const indexOf = (match, row) => match && row >= 0 ? this.#matches.findIndex(m => m.row === row && m.index === match.index) : -1
      this.#scan()
      this.#activate(indexOf(before, row))
      const at = indexOf(last, lastRow)
      this.#onChange(at < 0 ? 0 : count - 1 - at)
      this.#draw()
    }, rescanDelay)
  }

  #scan() {
    this.#matches = []
    this.#version++
    if (this.#pattern) this.#lines ??= linesOf(this.#xterm)
    for (const { row, text, starts } of this.#pattern ? this.#lines : []) {
      let after = 0 // rows before the match
      for (const { index, length } of matchesIn(this.#pattern, text)) {
        while (starts[after + 1] <= index) after++
        this.#matches.push({ row, index, length, y: row + after, at: index - starts[after] })
      }
    }
    this.#last?.dispose()
    this.#last = this.count ? markerAt(this.#xterm, this.#matches.at(-1).row) : null
    this.#draw()
    this.#drawRuler()
  }

  // draw marks the matches in view. It is called for each frame, and mostly has nothing to do.
  #draw() {
    const { viewportY } = this.#xterm.buffer.active
    const wanted = this.#matches.length ? `${this.#version} ${viewportY} ${this.#xterm.rows} ${this.#xterm.cols}` : ''
    if (wanted === this.#drawn) return
    this.#drawn = wanted
    for (const decoration of this.#decorations) decoration.dispose()
    this.#decorations = []
    let first = bisect(this.#matches, ({ y }) => y >= viewportY)
    while (first > 0 && this.#matches[first - 1].y > viewportY - 20) first-- // matches that wrap into the view
    const last = viewportY + this.#xterm.rows - 1
    const known = new Map() // places, by row
    const placesIn = y => known.get(y) ?? known.set(y, placesOf(this.#xterm, y)).get(y)
    for (let i = first; i < this.#matches.length && this.#matches[i].y <= last; i++) {
      if (this.#decorations.length < 2 * maxMarks || i === this.active) this.#decorate(i, viewportY, last, placesIn)
    }
  }

  // decorate marks a match in the rows from top to last.
  #decorate(i, top, last, placesIn) {
    let { y, at, length } = this.#matches[i]
    const colors = this.#colors()[i === this.active ? 'active' : 'other']
    for (; length > 0 && y <= last; y++, at = 0) {
      const places = placesIn(y).slice(at, at + length)
      length -= places.length
      if (y < top || !places.length) continue
      const from = places[0].x
      const to = places.at(-1).x + places.at(-1).width
      const marker = markerAt(this.#xterm, y)
      const inverse = this.#xterm.buffer.active.getLine(y).getCell(from).isInverse() && { foregroundColor: this.#xterm.options.theme.foreground }
      const decoration = this.#xterm.registerDecoration({ marker, x: from, width: Math.max(1, to - from), layer: 'top', ...inverse, ...colors })
      if (!decoration) return marker.dispose()
      decoration.onRender(shown => {
        shown.classList.add('match', 'found')
        shown.classList.toggle('active', i === this.active)
      })
      this.#decorations.push(decoration, marker)
    }
  }
}
