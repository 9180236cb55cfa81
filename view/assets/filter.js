// The filter of the list, by kind and by text, and the numbers of commands of each kind.
import { OutputSearch } from './outputs.js'
import { commandOf, element, kindOf } from './text.js'

const kinds = ['running', 'failed', 'stopped', 'denied', 'done']

// Filter shows the numbers as buttons that choose a kind. onChange is called when the user has changed the filter.
export class Filter {
  kind = '' // or one of kinds
  #text
  #buttons = new Map() // by kind
  #none
  #outputs

  constructor({ counts, text, none, all }, onChange) {
    this.#text = text
    this.#none = none
    this.#outputs = new OutputSearch(onChange)
    for (const kind of kinds) {
      const button = element('button', { type: 'button', class: 'kind', 'aria-pressed': 'false', hidden: true })
      button.dataset.kind = kind
      button.addEventListener('click', () => this.#choose(this.kind === kind ? '' : kind, onChange))
      this.#buttons.set(kind, button)
      counts.append(button)
    }
    text.addEventListener('input', onChange)
    text.addEventListener('keydown', event => {
      if (event.key !== 'Escape' || !text.value) return
      text.value = ''
      onChange()
    })
    all.addEventListener('click', () => {
      text.value = ''
      this.#choose('', onChange)
      text.focus()
    })
  }

  #choose(kind, onChange) {
    this.kind = kind
    onChange()
  }

  // apply hides the items, and the sessions, without a match. rows and items are by key.
  apply(rows, items, lists) {
    const counts = new Map()
    this.#outputs.set(this.#text.value)
    const words = this.#text.value.toLowerCase().split(/\s+/).filter(Boolean)
    let shown = 0
    for (const [key, row] of rows) {
      const kind = kindOf(row)
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
      const text = [commandOf(row), row.source, row.session, row.dir].join('\n').toLowerCase()
      const found = this.#outputs.of(key)
      const matches = (!this.kind || this.kind === kind) && (found || words.every(word => text.includes(word)))
      const { li, link, match } = items.get(key)
      li.hidden = !matches
      match.textContent = found?.text ?? ''
      link.setAttribute('href', `#${found?.line ? `${key}:L${found.line}` : key}`)
      shown += matches ? 1 : 0
    }
    for (const list of lists) list.parentElement.hidden = [...list.children].every(li => li.hidden)
    for (const [kind, button] of this.#buttons) {
      const count = counts.get(kind) ?? 0
      const text = `${count} ${kind}`
      if (button.textContent !== text) button.textContent = text
      button.hidden = !count && this.kind !== kind
      button.setAttribute('aria-pressed', this.kind === kind)
    }
    this.#none.hidden = !!shown || !rows.size || this.#outputs.pending
  }
}
