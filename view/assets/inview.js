// Decorations of the rows in view. Only those are made, because xterm.js looks at all decorations for each frame.
import { markerAt } from './lines.js'

export class InView {
  #xterm
  #find
  #drawn = ''
  #made = []

  // constructor decorates a terminal. find returns the decorations in the rows from first to last: { row, text } for a
  // label at the right, and { row, color } for the colour of a row's text.
  constructor(xterm, find) {
    this.#xterm = xterm
    this.#find = find
    xterm.onRender(() => this.#draw())
  }

  #draw() {
    const { cols, rows, buffer: { active } } = this.#xterm
    const wanted = this.#find(active.viewportY, active.viewportY + rows - 1)
    const drawn = wanted.length ? JSON.stringify([wanted, cols]) : ''
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    for (const made of this.#made) made.dispose()
    this.#made = wanted.flatMap(decoration => this.#make(decoration))
  }

  #make({ row, text, color }) {
    const { cols } = this.#xterm
    if (text && this.#xterm.buffer.active.getLine(row).translateToString(true).length + text.length + 2 > cols) return []
    const marker = markerAt(this.#xterm, row)
    const made = marker && this.#xterm.registerDecoration(text
      ? { marker, x: cols - text.length - 1, width: text.length + 1 } : { marker, width: cols, foregroundColor: color })
    made?.onRender(shown => {
      shown.classList.add('match')
      if (text) Object.assign(shown, { textContent: text, className: `${shown.className} label` })
    })
    return made ? [made, marker] : []
  }
}
