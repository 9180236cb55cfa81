// Finding text in all retained output, of which the screen may have only a part: the bar's choices, and the count.
import { Search, patternOf } from './search.js'

// searchColors returns the colours of matches, and of their places beside the scrollbar. The active one stands out.
const searchColors = dark => dark
  ? { other: { backgroundColor: '#5a4a12' }, active: { backgroundColor: '#ffb224', foregroundColor: '#0f141b' }, place: '#8a7120' }
  : { other: { backgroundColor: '#fff1a8' }, active: { backgroundColor: '#ff9632', foregroundColor: '#14181d' }, place: '#d9b44a' }

// Finder finds text for a bar. output gives access to the output: partial() says whether the screen has only a part of
// it, which is shown(), a Window, or else the end; read() resolves to the History, or null; show(history, last) shows
// another Window; transcript() is the Transcript, if the user wants one.
export class Finder {
  #search
  #bar // { findText, findCount, findCase, findWord, findRegex }
  #output
  #pattern = null // of the last search
  #before = 0 // matches before the screen, or NaN while they are counted
  #closed = false

  constructor(xterm, dark, bar, output) {
    this.#search = new Search(xterm, () => searchColors(dark()), dropped => {
      this.#before += dropped
      this.#showCount()
    })
    this.#bar = bar
    this.#output = output
  }

  // find marks the next or the previous match, and shows it. incremental begins with the current match. It resolves to
  // whether a match exists.
  async find(text, backwards, incremental) {
    const search = this.#search
    const pattern = this.#pattern = this.#patternOf(text)
    search.set(pattern)
    this.#before = 0
    const history = pattern && this.#output.partial() ? await this.#count(pattern) : null
    if (this.#closed || this.#pattern !== pattern) return false
    const total = history?.count(pattern) ?? search.count
    if (!pattern || !total) {
      this.#showCount()
      return false
    }
    const near = search.active >= 0 ? search.active : this.#output.shown() ? search.next : Math.min(search.next, search.count - 1)
    let next = incremental ? near : search.active < 0 ? backwards ? search.count - 1 : 0
      : search.active + (backwards ? -1 : 1)
    if (history && !(next >= 0 && next < search.count)) {
      next = (this.#before + next + total) % total
      if (!this.#covers(next, total)) await this.#output.show(history, history.sectionOf(pattern, next) + 1)
      next -= this.#matchesBefore(history, pattern)
    }
    if (this.#closed || this.#pattern !== pattern) return false
    if (search.count) search.show((next + search.count) % search.count)
    this.#before = history ? this.#matchesBefore(history, pattern) : 0
    this.#showCount()
    if (!incremental && search.active >= 0) this.#output.transcript()?.tell(search.text)
    return true
  }

  // rescan finds the text in a screen that has been written again.
  rescan() { this.#search.rescan() }

  // redraw marks the matches in other colours.
  redraw() { this.#search.redraw() }

  // clear removes the marks. With focus, it gives the focus to the line of the active match if it can, and reports that.
  clear(focus) {
    const { row } = this.#search
    this.#search.set(null)
    return focus && row >= 0 && this.#output.transcript()?.focus(row)
  }

  dispose() {
    this.#closed = true
    this.#search.dispose()
  }

  // count reads all retained output, and counts the matches before the screen.
  async #count(pattern) {
    this.#before = NaN
    this.#showCount()
    const history = await this.#output.read()
    this.#before = history ? this.#matchesBefore(history, pattern) : 0
    return history
  }

  // matchesBefore returns the number of matches before those on the screen. The live screen has the last ones.
  #matchesBefore(history, pattern) {
    const shown = this.#output.shown()
    return shown ? history.count(pattern, shown.first) : Math.max(0, history.count(pattern) - this.#search.count)
  }

  // covers reports whether the screen has the match with this index in all output.
  #covers(index, total) {
    return index >= this.#before && index < Math.min(total, this.#before + this.#search.count)
  }

  // patternOf returns the pattern of a text with the user's choices, or null for none, and shows whether it is valid.
  #patternOf(text) {
    const { findText, findCase, findWord, findRegex } = this.#bar
    const chosen = button => button.getAttribute('aria-pressed') === 'true'
    try {
      findText.removeAttribute('aria-invalid')
      return patternOf(text, { matchCase: chosen(findCase), wholeWord: chosen(findWord), regex: chosen(findRegex) })
    } catch {
      findText.setAttribute('aria-invalid', 'true')
      return null
    }
  }

  // showCount shows which match is the active one, and how many there are.
  #showCount() {
    const { findText, findCount } = this.#bar
    const { active, count } = this.#search
    const some = number => number.toLocaleString('en')
    const total = this.#before + count + this.#after()
    const text = findText.hasAttribute('aria-invalid') ? 'Not valid'
      : !findText.value ? '' : Number.isNaN(this.#before) ? '…'
      : total ? `${active >= 0 ? some(this.#before + active + 1) : '?'} of ${some(total)}` : 'No results'
    if (!this.#closed && findCount.textContent !== text) findCount.textContent = text
  }

  // after returns the number of matches after the window on the screen.
  #after() {
    const shown = this.#output.shown()
    const pattern = shown && this.#patternOf(this.#bar.findText.value)
    return pattern ? shown.history.count(pattern) - shown.history.count(pattern, shown.last + 1) : 0
  }
}
