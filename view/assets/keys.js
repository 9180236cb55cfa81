// The keys that a touch keyboard lacks, for a terminal with a PTY.

import { element } from './text.js'

// keys are the buttons: a label, a name with it, and the character or, for an arrow, its last one.
const keys = [
  ['Esc', 'Esc, Escape', '\x1b'], ['Tab', 'Tab', '\t'],
  ['←', 'Left', 'D'], ['↑', 'Up', 'A'], ['↓', 'Down', 'B'], ['→', 'Right', 'C'],
]

// KeyBar is a row of buttons. They leave the focus, and so the touch keyboard, where it is.
export class KeyBar {
  #control = element('button', { type: 'button', textContent: 'Ctrl', 'aria-label': 'Ctrl, Control for the next key', 'aria-pressed': 'false' })
  #bar

  // constructor puts the bar before an element. onKey receives the sequence of a pressed button. application reports
  // whether the command wants those of application cursor keys.
  constructor(next, { onKey, application }) {
    this.#control.addEventListener('click', () => this.#press(!this.#pressed))
    const buttons = keys.map(([text, name, key]) => {
      const button = element('button', { type: 'button', textContent: text, 'aria-label': name })
      button.addEventListener('click', () => {
        onKey(key >= 'A' && key <= 'D' ? this.#arrow(key, application()) : key)
        this.#press(false)
      })
      return button
    })
    this.#bar = element('div', { class: 'keys', role: 'group', 'aria-label': 'Keys', hidden: true }, this.#control, ...buttons)
    this.#bar.addEventListener('mousedown', event => event.preventDefault())
    next.before(this.#bar)
  }

  // show shows or hides the bar.
  show(shown) { this.#bar.hidden = !shown }

  // apply returns a typed text with the Control key, if that was pressed.
  apply(text) {
    if (!this.#pressed) return text
    this.#press(false)
    return /^[@-_a-z ]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt() & 31) : text
  }

  get #pressed() { return this.#control.getAttribute('aria-pressed') === 'true' }

  #press(pressed) { this.#control.setAttribute('aria-pressed', pressed) }

  #arrow(key, application) {
    return this.#pressed ? `\x1b[1;5${key}` : application ? `\x1bO${key}` : `\x1b[${key}`
  }
}
