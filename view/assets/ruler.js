// The places of matches, beside the scrollbar.
import { element } from './text.js'

const high = 3 // pixels of a mark

export class Ruler {
  #xterm
  #pane = element('div', { class: 'ruler' })

  constructor(xterm) {
    this.#xterm = xterm
    Object.assign(this.#pane.style, {
      position: 'absolute', inset: '0 0 0 auto', width: '6px', pointerEvents: 'none', zIndex: 11, forcedColorAdjust: 'none',
    })
  }

  // draw marks rows, which are in order, in a colour, and one row in another, unless all are in view.
  draw(rows, color, active, activeColor) {
    const { rows: inView, buffer: { active: { length } } } = this.#xterm
    if (!this.#pane.isConnected) this.#xterm.element.append(this.#pane)
    const places = this.#pane.clientHeight / high
    const placeOf = row => Math.floor(row / length * places) * high
    const stop = (y, color) => `#0000 ${y}px, ${color} ${y}px ${y + high}px, #0000 ${y + high}px`
    const marks = [`linear-gradient(${[...new Set(rows.map(placeOf))].map(y => stop(y, color))})`]
    if (active >= 0) marks.unshift(`linear-gradient(${stop(placeOf(active), activeColor)})`)
    this.#pane.style.background = rows.length && length > inView ? marks.join() : ''
  }

  remove() { this.#pane.remove() }
}
