// What the user types for a command with a PTY. The input of xterm.js itself is disabled, so its answers to
// queries and its reports never arrive here: only keys, text from input methods, and pasted text.

// listen calls onText with the text that the user types or pastes into an open terminal while typing() is true.
export function listen(xterm, { typing, onText }) {
  let keyed = false // onKey was called for this key, which can also cause "keypress" and "input" events
  const on = (type, handler) => xterm.element.addEventListener(type, event => {
    if (typing()) handler(event)
  }, true)
  for (const type of ['keydown', 'keyup']) on(type, () => { keyed = false })
  xterm.onKey(({ key }) => {
    if (typing() && !keyed) onText(key)
    keyed = true
  })
  on('input', event => {
    if (!keyed && event.inputType === 'insertText' && event.data && !event.isComposing) onText(event.data)
  })
  on('compositionend', event => { if (event.data) onText(event.data) })
  on('paste', event => {
    event.preventDefault()
    event.stopPropagation()
    const text = printable(event.clipboardData?.getData('text/plain') ?? '')
    if (text) onText(xterm.modes.bracketedPasteMode ? `\x1b[200~${text}\x1b[201~` : text)
  })
}

// printable returns pasted text without control characters, which the user may not have seen. It converts line ends to
// the Enter key's.
function printable(text) {
  return text.replace(/\r?\n/g, '\r').replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, '')
}

// isToggle reports whether a key turns typing off or on.
export function isToggle(event) {
  return event.ctrlKey && event.shiftKey && event.key === 'Enter'
}

// isForCommand reports whether a key goes to the command while the user types. The others belong to the browser:
// Control C with a selection, Control V, and those with a Mac's Command key.
export function isForCommand(event, selected) {
  const key = event.key.toLowerCase()
  if (event.metaKey || event.shiftKey && key === 'insert') return false
  return !event.ctrlKey || event.altKey || !(key === 'v' || key === 'c' && selected)
}
