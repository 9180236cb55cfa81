// The page of one terminal. Its URL is the src of its element, and its fragment may name a line or a time,
// in seconds after the start: "#L120" or "#T83".
import './acp-terminal.js'
import { onFindKey } from './findkey.js'
import { nameOf, outcome } from './text.js'

const terminal = document.createElement('acp-terminal')
terminal.first = JSON.parse(document.getElementById('first').textContent).output
terminal.setAttribute('src', location.pathname)
terminal.addEventListener('status', ({ detail: row }) => {
  document.title = row.ended ? `${outcome(row)}: ${nameOf(row)}` : nameOf(row)
})
addEventListener('keydown', event => onFindKey(event, terminal))
showFragment()
addEventListener('hashchange', showFragment)
terminal.addEventListener('line', ({ detail }) => history.replaceState(null, '', detail ? `#L${detail}` : location.pathname + location.search))
terminal.addEventListener('time', ({ detail }) => history.replaceState(null, '', `#T${detail}`))
document.querySelector('main').append(terminal)

// showFragment shows the line or the time that the URL's fragment names.
function showFragment() {
  const [, letter, number] = /^#([LT])(\d+)$/.exec(location.hash) ?? []
  if (letter) terminal.setAttribute(letter === 'T' ? 'time' : 'line', number)
}
