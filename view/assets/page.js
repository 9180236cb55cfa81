// The page shows the list of commands by session, and the terminal whose key is the URL's fragment. A line of its output
// or a time, in seconds after the start, may follow: "#key:L120" or "#key:T83".
import './acp-terminal.js'
import { Filter } from './filter.js'
import { onFindKey } from './findkey.js'
import { follow } from './stream.js'
import { clock, commandOf, duration, element, lineOf, nameOf, outcome, ownerBadge, ownerOf, runner, tone } from './text.js'

/** @type {(id: string) => any} */
const part = id => document.getElementById(id)
const narrow = matchMedia('(max-width: 760px)')
const rows = new Map() // by key
const items = new Map() // list items, by key
const groups = new Map() // lists, by key of the session
const shapes = { good: '✓', bad: '✗', denied: '⊘', stopped: '■', ended: '–' } // shown in addition to the colours
let clockOffset = 0
let online = false
let shown = null // the <acp-terminal>
const lost = new Map() // texts about lost connections: of the list, and of the terminal
const filter = new Filter({ counts: part('counts'), text: part('filter-text'), none: part('none'), all: part('show-all') }, applyFilter)
const first = JSON.parse(part('first').textContent) // what the streams would begin with; see first.go

follow('events', {
  signal: new AbortController().signal,
  background: true, // for the title and notifications
  first: first.table,
  onEvent({ data: { now, all, rows: changed, sizes, gone } }) {
    clockOffset = now - Date.now()
    const added = changed.filter(show)
    if (!all && added.length && part('newest').checked) location.hash = added.at(-1).key
    for (const size of sizes ?? []) showTime(Object.assign(rows.get(size.key), size))
    for (const key of gone ?? []) forget(key)
    if (all) keepOnly(new Set(changed.map(row => row.key)))
    choose()
    count()
  },
  onConnection(state, reason) {
    online = state === 'open'
    count()
    document.body.classList.toggle('offline', !online)
    sayConnection('list', state, reason)
  },
})
setInterval(showTimes, 500)
addEventListener('keydown', onKey)
addEventListener('hashchange', choose)
part('notifying').hidden = !('Notification' in window)
part('notify').addEventListener('change', async () => {
  if (part('notify').checked && await Notification.requestPermission() !== 'granted') part('notify').checked = false
})
narrow.addEventListener('change', choose)

// sayConnection shows the state of a connection, once for the list and the terminal.
function sayConnection(whose, state, reason) {
  lost.set(whose, {
    lost: 'The connection is lost; trying again.', busy: 'Too many pages are open; waiting.',
    forbidden: 'This address is not good any more.', gone: 'This address is not good any more.',
    impossible: `The list cannot be shown: ${reason}`,
  }[state] ?? '')
  part('connection').textContent = lost.get('list') || lost.get('terminal') || ''
}

function applyFilter() { filter.apply(rows, items, groups.values()) }

// onKey opens the search from anywhere on the page, and moves in the list.
function onKey(event) {
  onFindKey(event, shown)
  if (event.defaultPrevented || event.altKey || event.shiftKey) return
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const links = [...part('list').querySelectorAll('li:not([hidden]) > a')]
  const at = links.indexOf(document.activeElement)
  if (!step || at < 0 || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  links[at + step]?.focus()
}

// show adds or updates a row's list item, and reports whether it was added. The newest of a session is first.
function show(row) {
  const known = rows.has(row.key)
  if (known && row.ended && !rows.get(row.key).ended) notify(row)
  const another = known && rows.get(row.key).number !== row.number // after a release
  if (another) forget(row.key)
  rows.set(row.key, row)
  let item = items.get(row.key)
  if (!item) {
    const parts = {
      dot: element('span', { class: 'dot', 'aria-hidden': 'true' }), command: element('span', { class: 'command' }),
      outcome: element('b'), numbers: element('span'), match: element('span', { class: 'match' }),
    }
    parts.link = element('a', { href: `#${row.key}` }, parts.dot, parts.command, ...ownerBadge(row),
      element('span', { class: 'meta' }, parts.outcome, parts.numbers), parts.match)
    parts.li = element('li', {}, parts.link)
    items.set(row.key, item = parts)
    group(row).prepend(parts.li)
  }
  group(row) // may have a new name
  item.link.dataset.tone = tone(row)
  item.dot.textContent = shapes[tone(row)] ?? ''
  item.command.textContent = commandOf(row).split('\n', 1)[0]
  item.command.title = commandOf(row)
  item.outcome.textContent = outcome(row)
  showTime(row)
  if (shown?.dataset.key === row.key) another ? open(row.key) : shown.name(row)
  return !known
}

// notify shows a notification of a command's end, if the user wants one and the page is not in view.
function notify(row) {
  if (!part('notify').checked || document.hasFocus() && !document.hidden) return
  const body = [outcome(row), duration(row.ended - row.started), ownerOf(row) || row.session].filter(Boolean).join(' · ')
  const shown = new Notification(lineOf(row), { body, tag: row.key })
  shown.onclick = () => {
    focus()
    location.hash = row.key
  }
}

// group returns the list of a row's session.
function group({ source, session, sessionKey, earlier }) {
  const id = `session-${sessionKey}`
  if (!groups.has(sessionKey)) {
    const list = element('ul', { 'aria-labelledby': id })
    const name = element('summary', {}, element('h2', { id }))
    const section = element('details', { open: true }, name, list)
    groups.set(sessionKey, list)
    part('list').prepend(section)
  }
  const title = [earlier && 'Earlier run', source, session || 'No session'].filter(Boolean).join(' · ')
  if (part(id).textContent !== title) part(id).textContent = part(id).title = title
  return groups.get(sessionKey)
}

function forget(key) {
  const item = items.get(key)
  const list = item?.li.parentElement
  item?.li.remove()
  items.delete(key)
  const session = rows.get(key)?.sessionKey
  rows.delete(key)
  if (list && !list.childElementCount) {
    list.parentElement.remove()
    groups.delete(session)
  }
}

function keepOnly(keys) {
  for (const key of [...rows.keys()]) if (!keys.has(key)) forget(key)
}

function showTimes() {
  if (!online) return // they may have ended
  for (const row of rows.values()) if (!row.ended) showTime(row)
}

function showTime(row) {
  const ended = row.ended || Date.now() + clockOffset
  const ran = row.state !== 'denied' && row.state !== 'failed'
  let text = ran ? ` · ${clock(row.started)} · ${duration(ended - row.started)}` : row.status ? ` · ${row.status}` : ''
  const numbers = items.get(row.key).numbers
  if (row.agent) text += ` · ${runner(row)}`
  if (numbers.textContent !== text) numbers.textContent = text
}

// count shows how many commands run. Without a connection, the title does not say it, because they may have ended.
function count() {
  applyFilter()
  const running = [...rows.values()].filter(row => !row.ended).length
  const last = [...rows.values()].filter(row => row.ended && !row.earlier).sort((a, b) => a.ended - b.ended).at(-1)
  document.title = running ? `${online ? `(${running}) ` : ''}Terminals` : last ? `${outcome(last)}: ${nameOf(last)}` : 'Terminals'
  document.body.classList.toggle('empty', rows.size === 0)
  part('nothing').hidden = rows.size > 0
}

// choose shows the terminal of the URL's fragment. Without a fragment, a wide page shows the newest.
function choose() {
  let [, key, letter, number] = /^#(.*?)(?::([LT])(\d+))?$/s.exec(location.hash) ?? ['', '', '', '']
  if (key === 'terminal') return // the skip link
  const named = key !== ''
  if (!named && !narrow.matches) key = shown?.dataset.key ?? newest()
  document.body.classList.toggle('chosen', named)
  for (const [other, item] of items) {
    if (other === key) item.link.setAttribute('aria-current', 'true')
    else item.link.removeAttribute('aria-current')
  }
  const name = { L: 'line', T: 'time' }[letter]
  if (key && shown?.dataset.key !== key) open(key, name, number)
  else if (name && shown?.getAttribute(name) !== number) shown?.setAttribute(name, number)
}

function open(key, name, number) {
  if (!shown) part('terminal').append(shown = makeTerminal())
  shown.dataset.key = key
  for (const other of ['line', 'time']) if (other !== name) shown.removeAttribute(other)
  if (name) shown.setAttribute(name, number)
  sayConnection('terminal', 'open')
  shown.first = first.key === key ? first.output : ''
  first.key = '' // only once, because it gets old
  shown.known = rows.has(key) ? { now: Date.now() + clockOffset, row: rows.get(key) } : null
  shown.setAttribute('src', `terminals/${encodeURIComponent(key)}`)
}

function makeTerminal() {
  const terminal = document.createElement('acp-terminal')
  terminal.addEventListener('line', ({ detail }) => history.replaceState(null, '', `#${terminal.dataset.key}${detail ? `:L${detail}` : ''}`))
  terminal.addEventListener('time', ({ detail }) => history.replaceState(null, '', `#${terminal.dataset.key}:T${detail}`))
  terminal.addEventListener('status', ({ detail: row }) => { // which may know of the end before the list
    const listed = rows.get(row.key)
    if (listed?.number !== row.number || listed.ended || !row.ended) return
    show(row)
    count()
  })
  terminal.addEventListener('connection', event => {
    if (part('connection').checkVisibility()) event.preventDefault() // shown above the list, not twice
    sayConnection('terminal', { lost: 'lost', busy: 'busy' }[event.detail])
  })
  return terminal
}

// newest returns the last running command, or else the last command.
function newest() {
  const all = [...rows.values()].sort((a, b) => Number(!a.ended) - Number(!b.ended) || a.started - b.started)
  return all.at(-1)?.key
}
