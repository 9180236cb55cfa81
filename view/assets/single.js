// The page of one terminal. Its URL is the src of its element.
import './acp-terminal.js'
import { nameOf, outcome } from './text.js'

const terminal = document.createElement('acp-terminal')
terminal.first = JSON.parse(document.getElementById('first').textContent).output
terminal.setAttribute('src', location.pathname)
terminal.addEventListener('status', ({ detail: row }) => {
  document.title = row.ended ? `${outcome(row)}: ${nameOf(row)}` : nameOf(row)
})
document.querySelector('main').append(terminal)
