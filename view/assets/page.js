// The page: the list of commands by session, and the terminal whose id is the URL's fragment.
import './acp-terminal.js'
import { follow } from './stream.js'
import { bytes, duration, element, outcome, tone } from './text.js'

const part = id => document.getElementById(id)
const narrow = matchMedia('(max-width: 700px)')
const rows = new Map() // by id
const items = new Map() // list items, by id
const groups = new Map() // lists, by session
let clockOffset = 0
let shown = null // the <acp-terminal>

follow('events', {
  signal: new AbortController().signal,
  onEvent({ data: { now, all, rows: changed, sizes, gone } }) {
    clockOffset = now - Date.now()
    for (const row of changed) show(row)
    for (const size of sizes ?? []) showTime(Object.assign(rows.get(size.id), size))
    for (const id of gone ?? []) forget(id)
    if (all) keepOnly(new Set(changed.map(row => row.id)))
    choose()
    count()
  },
  onConnection(state) {
    part('connection').textContent = {
      lost: 'The connection is lost; trying again.', busy: 'Too many pages are open; waiting.',
      forbidden: 'This address is not good any more.', gone: 'This address is not good any more.',
    }[state] ?? ''
  },
})
setInterval(showTimes, 500)
addEventListener('hashchange', choose)
narrow.addEventListener('change', choose)

// show adds or updates a row's list item; the newest of a session is first.
function show(row) {
  rows.set(row.id, row)
  let item = items.get(row.id)
  if (!item) {
    const parts = {
      dot: element('span', { class: 'dot' }), command: element('span', { class: 'command' }),
      outcome: element('b'), numbers: element('span'),
    }
    parts.link = element('a', { href: `#${row.id}` }, parts.dot, parts.command,
      element('span', { class: 'meta' }, parts.outcome, parts.numbers))
    parts.li = element('li', {}, parts.link)
    items.set(row.id, item = parts)
    group(row.session).prepend(parts.li)
  }
  item.link.dataset.tone = tone(row)
  item.command.textContent = row.command.split('\n', 1)[0]
  item.command.title = row.command
  item.outcome.textContent = outcome(row)
  showTime(row)
}

function group(session) {
  if (!groups.has(session)) {
    const id = `session-${groups.size}`
    const list = element('ul', { 'aria-labelledby': id })
    const section = element('section', {}, element('h2', { id, textContent: session || 'No session' }), list)
    groups.set(session, list)
    part('list').prepend(section)
  }
  return groups.get(session)
}

function forget(id) {
  const item = items.get(id)
  const list = item?.li.parentElement
  item?.li.remove()
  items.delete(id)
  const session = rows.get(id)?.session
  rows.delete(id)
  if (list && !list.childElementCount) {
    list.parentElement.remove()
    groups.delete(session)
  }
}

function keepOnly(ids) {
  for (const id of [...rows.keys()]) if (!ids.has(id)) forget(id)
}

function showTimes() {
  for (const row of rows.values()) if (!row.ended) showTime(row)
}

function showTime(row) {
  const ended = row.ended || Date.now() + clockOffset
  const ran = row.state !== 'denied' && row.state !== 'failed'
  const text = ran ? ` · ${duration(ended - row.started)} · ${bytes(row.bytes)}` : row.status ? ` · ${row.status}` : ''
  const numbers = items.get(row.id).numbers
  if (numbers.textContent !== text) numbers.textContent = text
}

function count() {
  const running = [...rows.values()].filter(row => !row.ended).length
  part('counts').textContent = rows.size ? `${running} running, ${rows.size - running} past` : ''
  document.title = running ? `(${running}) Terminals` : 'Terminals'
  document.body.classList.toggle('empty', rows.size === 0)
  part('nothing').hidden = rows.size > 0
}

// choose shows the terminal of the URL's fragment; a wide page without one shows the newest.
function choose() {
  let id = decodeURIComponent(location.hash.slice(1))
  if (id === 'terminal') return // the skip link
  const named = id !== ''
  if (!named && !narrow.matches) id = shown?.dataset.id ?? newest()
  document.body.classList.toggle('chosen', named)
  for (const [other, item] of items) {
    if (other === id) item.link.setAttribute('aria-current', 'true')
    else item.link.removeAttribute('aria-current')
  }
  if (!id || shown?.dataset.id === id) return
  if (!shown) part('terminal').append(shown = document.createElement('acp-terminal'))
  shown.dataset.id = id
  shown.setAttribute('src', `terminals/${encodeURIComponent(id)}`)
}

// newest returns the last running command, or else the last command.
function newest() {
  const all = [...rows.values()].sort((a, b) => !a.ended - !b.ended || a.started - b.started)
  return all.at(-1)?.id
}
