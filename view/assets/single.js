// The page of one terminal, whose URL is the src of its element.
import './acp-terminal.js'
import { commandOf } from './text.js'

const terminal = document.createElement('acp-terminal')
terminal.setAttribute('src', location.pathname)
terminal.addEventListener('status', event => { document.title = commandOf(event.detail) })
document.querySelector('main').append(terminal)
