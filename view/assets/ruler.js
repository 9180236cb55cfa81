// The places of matches, beside the scrollbar.
import { element } from './text.js'

const high = 3 // pixels of a mark

export class Ruler {
  #xterm
  #pane = element('div', { class: 'ruler' })

  constructor(xterm) {
    this.#xterm = xterm
    Object.assign(this.#pane.style, { position: 'absolute', inset: '0 0 0 auto', width: '6px', pointerEvents: 'none', zIndex: 11 })
  }

  // draw marks rows, which are in order, unless all are in view.
  draw(rows, color) {
    const { rows: inView, element, buffer: { active: { length } } } = this.#xterm
    if (!this.#pane.isConnected) element.append(this.#pane)
    const places = this.#pane.clientHeight / high
    const marks = length > inView ? [...new Set(rows.map(row => Math.floor(row / length * places) * high))] : []
    const stops = marks.map(y => `#0000 ${y}px, ${color} ${y}px ${y + high}px, #0000 ${y + high}px`)
    this.#pane.style.background = marks.length ? `linear-gradient(${stops})` : ''
  }

  remove() { this.#pane.remove() }
}
