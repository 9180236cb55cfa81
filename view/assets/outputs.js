// The search in the output of all commands in the list, for the text of the filter.
const pause = 300 // milliseconds after the last key

// OutputSearch finds a text in the output of the commands. onChange is called when the result has changed.
export class OutputSearch {
  pending = false
  #found = new Map() // { line, text, count }, by key
  #text = ''
  #timer = 0
  #request = new AbortController()
  #onChange

  constructor(onChange) { this.#onChange = onChange }

  // of returns the matches in a command's output, or undefined.
  of(key) { return this.#found.get(key) }

  // set searches for a text of at least two characters.
  set(text) {
    text = text.trim()
    if (text === this.#text) return
    this.#text = text
    this.#request.abort()
    clearTimeout(this.#timer)
    this.#found.clear()
    this.pending = text.length > 1
    if (this.pending) this.#timer = setTimeout(() => this.#search(), pause)
  }

  async #search() {
    const { signal } = this.#request = new AbortController()
    let found = []
    try {
      const response = await fetch(`search?${new URLSearchParams({ text: this.#text })}`, { signal })
      if (response.ok) ({ found } = await response.json())
    } catch { /* no connection; or another text, which aborts */ }
    if (signal.aborted) return
    for (const match of found) this.#found.set(match.key, match)
    this.pending = false
    this.#onChange()
  }
}
