// Decorations of the rows in view. Only those are made, because xterm.js looks at all decorations for each frame.
import { markerAt } from './lines.js'

const pause = 100 // milliseconds until rows of much output are decorated

export class InView {
  #xterm
  #find
  #first = null // a marker of the first row in view in the last frame
  #timer = 0
  #drawn = ''
  #made = []

  // constructor decorates a terminal. find returns the decorations in the rows from first to last: their options for
  // xterm.js, with row in place of a marker, and show, which is called with the element of a decoration. waits means that
  // they may come later, while each frame at the end has other rows: no one can read those.
  constructor(xterm, find, waits = false) {
    this.#xterm = xterm
    this.#find = find
    xterm.onRender(() => waits ? this.#soon() : this.draw())
  }

  // soon draws, or waits while each frame at the end has other rows.
  #soon() {
    const { rows, buffer: { active: { viewportY, baseY } } } = this.#xterm
    const others = !!this.#first && viewportY === baseY && viewportY - this.#first.line >= rows
    this.#first?.dispose()
    this.#first = markerAt(this.#xterm, viewportY)
    clearTimeout(this.#timer)
    if (others) this.#timer = setTimeout(() => this.draw(), pause)
    else this.draw()
  }

  // draw draws the decorations that find returns now, if they are others than before.
  draw() {
    const { cols, rows, element, textarea, buffer: { active } } = this.#xterm
    if (!element?.isConnected) return
    const wanted = this.#find(active.viewportY, active.viewportY + rows - 1)
    const drawn = wanted.length ? JSON.stringify([wanted, cols]) : ''
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    const focused = element.getRootNode().activeElement
    if (focused !== textarea && element.contains(focused)) textarea.focus({ preventScroll: true }) // it is in a decoration
    for (const made of this.#made) made.dispose()
    this.#made = wanted.flatMap(decoration => this.#make(decoration))
  }

  #make({ row, show, ...options }) {
    const marker = markerAt(this.#xterm, row)
    const made = marker && this.#xterm.registerDecoration({ marker, ...options })
    made?.onRender(shown => {
      shown.classList.add('match')
      show?.(shown)
    })
    return made ? [made, marker] : []
  }
}
