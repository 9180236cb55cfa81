// The page of one terminal, whose URL is the src of its element.
import './acp-terminal.js'

const terminal = document.createElement('acp-terminal')
terminal.setAttribute('src', location.pathname)
terminal.addEventListener('status', event => { document.title = event.detail.command })
document.querySelector('main').append(terminal)
