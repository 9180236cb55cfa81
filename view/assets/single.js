// The page of one terminal. Its URL is the src of its element, and its fragment may name a line: "#L120".
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
const wanted = () => /^#L(\d+)$/.exec(location.hash)?.[1]
if (wanted()) terminal.setAttribute('line', wanted())
addEventListener('hashchange', () => { if (wanted()) terminal.setAttribute('line', wanted()) })
terminal.addEventListener('line', ({ detail }) => history.replaceState(null, '', detail ? `#L${detail}` : location.pathname + location.search))
document.querySelector('main').append(terminal)
