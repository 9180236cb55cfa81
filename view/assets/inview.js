// Decorations of the rows in view. Only those are made, because xterm.js looks at all decorations for each frame.
import { markerAt } from './lines.js'

const pause = 100 // milliseconds until rows of much output rest

// onFrame calls draw in each frame of a terminal, with whether the rows rest. They do not while each frame at the end has
// others, which no one can read, and do after a pause.
export function onFrame(xterm, draw) {
  let first = null // a marker of the first row in view in the last frame
  let timer = 0
  xterm.onRender(() => {
    const { rows, element, buffer: { active: { viewportY, baseY } } } = xterm
    const others = !!first && viewportY === baseY && viewportY - first.line >= rows
    first?.dispose()
    first = markerAt(xterm, viewportY)
    clearTimeout(timer)
    if (others) timer = setTimeout(() => { if (element.isConnected) xterm.refresh(0, 0) }, pause)
    draw(!others)
  })
}

export class InView {
  #xterm
  #find
  #drawn = ''
  #made = []

  // constructor decorates a terminal. find returns the decorations in the rows from first to last: their options for
  // xterm.js, with row in place of a marker, and show, which is called with the element of a decoration. waits means that
  // they may come later, once the rows rest.
  constructor(xterm, find, waits = false) {
    this.#xterm = xterm
    this.#find = find
    if (waits) onFrame(xterm, rest => { if (rest) this.draw() })
    else xterm.onRender(() => this.draw())
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
