// The errors of a run: their number in the header, and a list above the output that leads to each of them.
import { Collector } from './collector.js'
import { edit } from './links.js'
import { element } from './text.js'

export class Errors {
  #parts
  #host
  #list = element('ol')
  #at = element('span', { class: 'count' })
  #collector
  #lost // some output was not seen
  #active = -1
  #drawn = 0 // errors in the list
  #told = 0 // errors whose number screen readers have said

  // constructor takes the number of lines before the next text, the begin of the unfinished one, and whether some are
  // missing.
  constructor(parts, host, lines, begun, lost) {
    this.#parts = parts
    this.#host = host
    this.#collector = new Collector(lines, begun)
    this.#lost = lost
    const button = (textContent, ariaLabel, title, onclick) => element('button', { type: 'button', textContent, ariaLabel, title, onclick })
    parts.errors.replaceChildren(element('div', {}, this.#at,
      button('↑', 'Previous error', 'Previous error (Shift+F8)', () => this.go(-1)),
      button('↓', 'Next error', 'Next error (F8)', () => this.go(1)),
      button('✕', 'Close the errors', '', () => this.toggle(false))), this.#list)
    this.#list.onclick = event => {
      const item = /** @type {HTMLElement} */ (event.target).closest('[data-at]')
      if (item) this.#show(Number(/** @type {HTMLElement} */ (item).dataset.at))
    }
    host.on(parts.errors, 'keydown', event => { if (event.key === 'Escape') this.toggle(false) })
  }

  get count() { return this.#collector.count }

  // text says how many errors there are.
  get text() { return `${this.count}${this.#lost ? '+' : ''} ${this.count === 1 && !this.#lost ? 'error' : 'errors'}` }

  // add looks for errors in more output.
  add(text) {
    const { count } = this
    this.#collector.add(text)
    if (count !== this.count) this.#changed()
  }

  // lose says that some output is missing.
  lose() {
    this.#lost = true
    this.#collector.finish()
  }

  // finish looks at the rest of the output. If some was missed or dropped, it reads all that is kept.
  async finish(signal) {
    if (this.#lost || this.#host.row()?.dropped) return this.#read(signal)
    this.#collector.finish()
    this.#changed()
    this.#tellCount()
  }

  // restart forgets the output, and clear also closes the list.
  restart(lines = 0) {
    this.#collector = new Collector(lines)
    this.#drawn = 0
    this.#lost = false
    this.#active = -1
    this.#list.replaceChildren()
  }

  clear() {
    this.restart()
    this.#told = 0
    this.#parts.errors.hidden = true
    this.#parts.firstError.setAttribute('aria-expanded', 'false')
  }

  // toggle shows the list and an error, or hides it.
  async toggle(show = this.#parts.errors.hidden) {
    const { errors, firstError } = this.#parts
    errors.hidden = !show
    firstError.setAttribute('aria-expanded', show)
    if (!show) return firstError.focus()
    if (this.#lost) await this.#read(this.#host.signal())
    this.#draw()
    this.#show(Math.max(0, this.#active))
  }

  // go shows the next or the previous error.
  go(step) {
    const { all: { length } } = this.#collector
    if (length) this.#show(this.#active < 0 && step < 0 ? length - 1 : (this.#active + step + length) % length)
  }

  // read collects the errors of all output that is kept.
  async #read(signal) {
    try {
      const response = await fetch(`${this.#host.src()}/text/valid`, { signal })
      const text = await response.text()
      if (signal.aborted || !response.ok) return
      this.restart(this.#host.row().dropped ? -1 : 0) // the first line is a note then
      this.#collector.add(text)
      this.#collector.finish()
      this.#changed()
      this.#tellCount()
    } catch { /* no connection: what is known stays */ }
  }

  #changed() {
    if (!this.#parts.errors.hidden) this.#draw()
    this.#host.showErrors()
  }

  // tellCount has screen readers say how many errors an ended command had.
  #tellCount() {
    if (this.#told !== this.count && !this.#parts.firstError.hidden) this.#host.tell(this.text)
    this.#told = this.count
  }

  // draw adds the errors that are not in the list yet.
  #draw() {
    const { all } = this.#collector
    for (; this.#drawn < all.length; this.#drawn++) {
      const { line, text, place } = all[this.#drawn]
      const button = element('button', { type: 'button' }, element('span', { textContent: `${line}` }), ' ', text)
      button.dataset.at = `${this.#drawn}`
      const name = place && this.#host.row()?.editor && `Open ${place.file}:${place.line} in the editor`
      const opens = name ? [element('button', { type: 'button', class: 'edit', textContent: '↗', ariaLabel: name, title: name, onclick: () => edit(place, this.#host) })] : []
      this.#list.append(element('li', {}, button, ...opens))
    }
    this.#mark()
  }

  #mark() {
    this.#list.querySelector('[aria-current]')?.removeAttribute('aria-current')
    const button = this.#list.children[this.#active]?.firstChild
    button?.setAttribute('aria-current', 'true')
    button?.scrollIntoView({ block: 'nearest' })
    this.#at.textContent = this.#active < 0 ? this.text : `${this.#active + 1} of ${this.count}`
  }

  // show leads to an error.
  #show(at) {
    const error = this.#collector.all[at]
    if (!error) return
    this.#active = at
    this.#mark()
    this.#host.reads()
    const reads = this.#parts.reader.getAttribute('aria-pressed') === 'true' // the line, which gets the focus
    this.#host.tell(`Error ${at + 1} of ${this.count}${reads ? '' : `: ${error.text}`}`)
    this.#host.pick(error.line)
  }
}
