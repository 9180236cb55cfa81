// Keys on a page that are for its terminal, wherever the focus is: Control F opens the find bar, and F8 shows the next
// error.

// onFindKey opens the find bar for a key that asks for it, or shows an error. Without these, the key is the browser's.
export function onFindKey(event, terminal) {
  if (event.defaultPrevented || event.altKey || !terminal?.checkVisibility()) return
  const { key, ctrlKey, metaKey, shiftKey } = event
  const done = key === 'F8' ? !ctrlKey && !metaKey && terminal.goToError(shiftKey ? -1 : 1)
    : key.toLowerCase() === 'f' && (ctrlKey || metaKey) && !shiftKey && terminal.openFind()
  if (done) event.preventDefault()
}
