// How long groups took whose marks do not say so. The page then asks the server when their lines were written.
import { LineTimes } from './linetimes.js'

const pause = 1000 // milliseconds between requests
const exact = 1500 // milliseconds; a duration that is known less exactly is not shown

export class GroupTimes {
  #screen
  #host
  #onChange
  #times
  #asking = false

  // constructor takes a function that is called when more is known.
  constructor(screen, host, onChange) {
    this.#screen = screen
    this.#host = host
    this.#onChange = onChange
    this.#times = new LineTimes(host, 0, 0)
  }

  // secondsOf returns the seconds from one line to another, or NaN if they are not known. The first line of the output
  // has the number 1.
  secondsOf(first, last) {
    if (!this.#screen.numbers.known || this.#host.row()?.dropped) return NaN
    const begin = this.#times.at(first - 1), end = this.#times.at(last - 1)
    if (!begin || !end) {
      this.#ask()
      return NaN
    }
    const vague = begin.by - begin.after + end.by - end.after
    return vague > exact ? NaN : Math.round((end.by - begin.by) / 1000)
  }

  // ask asks for times, and again after a while if there are more then.
  async #ask() {
    if (this.#asking || document.hidden || !this.#times.stale) return
    this.#asking = true
    const signal = this.#host.signal()
    if (await this.#times.ask() === 'known' && !signal.aborted) this.#onChange()
    await new Promise(resolve => setTimeout(resolve, pause))
    this.#asking = false
    if (!signal.aborted && this.#times.stale) this.#onChange()
  }
}
