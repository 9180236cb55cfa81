// Decorations of the rows in view. Only those are made, because xterm.js looks at all decorations for each frame.
import { markerAt } from './lines.js'

export class InView {
  #xterm
  #find
  #drawn = ''
  #made = []

  // constructor decorates a terminal. find returns the decorations in the rows from first to last: their options for
  // xterm.js, with row in place of a marker, and show, which is called with the element of a decoration.
  constructor(xterm, find) {
    this.#xterm = xterm
    this.#find = find
    xterm.onRender(() => this.draw())
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
