// The header of a terminal: the state of its command, what is known about it, and Stop.
import { bytes, clock, commandOf, duration, element, kindOf, lineOf, outcome, ownerBadge, runner, tone } from './text.js'

const noOutput = 'No output.'

export class Header {
  #parts
  #host
  #clockOffset = 0 // the server's clock minus the browser's
  #problem = '' // why the last request had no effect
  #told = '' // the state that screen readers have said

  constructor(parts, host) {
    this.#parts = parts
    this.#host = host
    host.on(parts.more, 'click', () => this.showMore(!parts.box.classList.contains('opened')))
    const clock = setInterval(() => this.showNumbers(), 200)
    host.stopped.addEventListener('abort', () => clearInterval(clock))
  }

  // now is the server's time.
  get now() { return Date.now() + this.#clockOffset }

  set now(now) { this.#clockOffset = now - Date.now() }

  // stop asks the command to end. A second call before its end kills it.
  stop() { return this.#change('stop', 'Not stopped') }

  // moveToBackground makes an agent that waits for the command go on.
  moveToBackground() { return this.#change('background', 'Not moved') }

  async #change(what, failure) {
    const signal = this.#host.signal()
    let problem = 'the connection is lost'
    try {
      const response = await fetch(`${this.#host.src()}/${what}`, { method: 'POST', headers: { 'Acp-Terminal': what } })
      problem = response.ok ? '' : (await response.text()).trim()
    } catch { /* no response */ }
    if (signal?.aborted || this.#host.stopped.aborted) return
    this.#problem = problem && `${failure}: ${problem}`
    this.#showProblem()
  }

  // clear removes what belongs to a command.
  clear() {
    const p = this.#parts
    if (p.box.getRootNode().activeElement === p.stop) p.copy.focus()
    this.#problem = this.#told = ''
    for (const part of [p.message, p.command, p.state, p.owner, p.numbers, p.note, p.problem]) part.textContent = ''
    p.command.title = ''
    p.stop.hidden = p.more.hidden = p.copyCommand.hidden = p.firstError.hidden = p.whole.hidden = p.download.hidden = true
    p.screen.classList.remove('unused')
    delete p.box.dataset.tone
  }

  // show shows a row instead of another one.
  show(row, before) {
    const p = this.#parts
    p.box.dataset.tone = tone(row)
    if (p.command.textContent !== commandOf(row)) {
      p.command.textContent = commandOf(row)
      requestAnimationFrame(() => this.showMore(false)) // which takes a layout
    }
    p.copyCommand.hidden = !row.command
    if (before?.number !== row.number) p.owner.replaceChildren(...ownerBadge(row))
    p.command.title = [row.program, row.pid && `process ${row.pid}`].filter(Boolean).join(', ')
    if (!before || outcome(before) !== outcome(row) || before.status !== row.status || before.survivors !== row.survivors) {
      p.state.textContent = stateText(row)
    }
    const unused = row.state === 'denied' || row.state === 'failed', [first, ...more] = notRun(row)
    p.message.replaceChildren(...unused ? [element('b', { textContent: first }), ...more] : [])
    if (row.agent && row.ended && !row.bytes) p.message.textContent = noOutput // the stream continues until a release
    const waits = !row.ended && !row.bytes && !row.pty && !this.#host.written()
    if (waits) p.message.textContent = 'No output yet.'
    p.message.classList.toggle('waiting', waits)
    p.screen.classList.toggle('unused', unused)
    const told = `${stateText(row)}: ${lineOf(row)}${unused ? `. ${first}${more.join('')}` : ''}`
    if (told !== this.#told) this.#host.tell(this.#told = told)
    p.whole.hidden = p.download.hidden = p.findButton.hidden = unused || row.ended && !row.bytes
    this.showErrors()
    p.toEnd.textContent = row.ended ? '↓ End' : '↓ Follow'
    p.toEnd.title = row.ended ? 'Go to the end' : 'Go to the end and follow the output'
    if (unused) p.wrap.hidden = true
    const focused = p.box.getRootNode().activeElement === p.stop
    p.stop.hidden = !row.canStop
    p.stop.textContent = !row.stopping ? 'Stop' : row.agent ? 'Ask again' : 'Force stop'
    p.stop.title = row.agent ? 'Ask the agent to end the command' : ''
    this.#showProblem()
    if (focused && p.stop.hidden) p.copy.focus()
    this.showNumbers()
  }

  // showErrors shows how many errors are known of a command that runs or has failed.
  showErrors() {
    const { firstError } = this.#parts, row = this.#host.row(), { count = 0, text } = this.#host.errors() ?? {}
    const kind = row && kindOf(row)
    firstError.hidden = !row?.bytes || !!row.pty || !(kind === 'failed' && row.ended || kind !== 'done' && count)
    const label = count ? text : 'First error'
    if (firstError.textContent !== label) firstError.textContent = label
    firstError.dataset.count = count || '1'
    if (count) firstError.setAttribute('aria-controls', 'errors')
    else firstError.removeAttribute('aria-controls')
    if (!count) firstError.removeAttribute('aria-expanded')
    else if (!firstError.hasAttribute('aria-expanded')) firstError.setAttribute('aria-expanded', 'false')
  }

  // showNone says that an ended command has written nothing.
  showNone() {
    const { message } = this.#parts
    const row = this.#host.row()
    if (row && !row.bytes && !message.textContent && row.state !== 'denied') message.textContent = noOutput
  }

  // showOnline shows whether the row is current. Without a connection, the clock stands still and Stop is disabled.
  showOnline(online) {
    const p = this.#parts
    if (online) delete p.box.dataset.offline
    else p.box.dataset.offline = ''
    p.stop.disabled = !online
  }

  // showUnknown shows a row whose state can no longer be known.
  showUnknown(row) {
    const p = this.#parts
    p.box.dataset.tone = tone(row)
    p.state.textContent = outcome(row)
    if (p.message.classList.contains('waiting')) p.message.textContent = ''
    this.showNumbers()
  }

  // showMore shows all of a long command, or its first lines.
  showMore(whole = this.#parts.box.classList.contains('opened')) {
    const { box, command, more, numbers } = this.#parts
    more.setAttribute('aria-label', whole ? 'Show less of the command' : 'Show all of the command')
    box.classList.toggle('opened', whole)
    more.hidden = !whole && command.scrollHeight <= command.clientHeight && numbers.checkVisibility()
  }

  #showProblem() {
    const reason = this.#host.row()?.stopError
    const text = reason ? `Not stopped: ${reason}` : this.#problem
    if (this.#parts.problem.textContent === text) return
    this.#parts.problem.textContent = text
    this.#host.tell(text)
  }

  showNumbers() {
    const row = this.#host.row()
    if (!row) return
    const missed = this.#host.missed()
    if (!row.ended && !this.#host.online()) return // it may have ended
    const ended = row.ended || this.now
    const numbers = [row.earlier && 'Earlier run', row.agent && runner(row), row.by && `by ${row.by}`, row.dir, row.source, row.session]
      .filter(Boolean)
    if (row.background) numbers.push('in the background')
    numbers.push(clock(row.started))
    if (row.state !== 'denied' && row.state !== 'failed') {
      numbers.push(duration(ended - row.started), bytes(row.bytes))
      if (row.pty && missed) numbers.push(`${bytes(missed)} not shown`)
      if (row.dropped) numbers.push(`${bytes(row.dropped)} dropped`)
    }
    if (row.activity === 'input') numbers.push('waits for input')
    if (row.activity === 'idle') numbers.push('idle')
    // Its width does not depend on the size, which otherwise could change the height of the header, and that the size.
    // At the end, the padding is not seen.
    if (row.columns) numbers.push(`${row.columns} × ${row.rows}`.padEnd(9, '\u2007'))
    const texts = [...numbers, ...row.listening ? row.listening.split(' ') : []]
    const shown = this.#parts.numbers
    while (shown.childElementCount > texts.length) shown.lastChild.remove()
    texts.forEach((text, i) => {
      const item = shown.children[i] ?? shown.appendChild(element('li'))
      const link = i >= numbers.length && text.startsWith('http:') // otherwise an address on another machine
      if (item.textContent === text && !!item.firstElementChild === link) return
      item.replaceChildren(link ? element('a', { href: text, target: '_blank', rel: 'noreferrer', textContent: text }) : text)
      item.title = text.length > 60 ? text : ''
    })
  }
}

// stateText returns the text for screen readers.
function stateText(row) {
  let text = outcome(row)
  if (['stopped', 'killed', 'timed out', 'idle', 'connection lost'].includes(row.state)) text += row.status ? `, ${row.status}` : ''
  if (row.survivors) text += `; still running: ${row.survivors}`
  return text
}

// notRun returns lines that say why a command did not run.
function notRun(row) {
  const start = row.state === 'denied' ? 'This command was denied and did not run.' : 'This command could not be started.'
  return [start, row.status && `\n${row.status}`, row.rule && `\nRule: ${row.rule}`].filter(Boolean)
}
