// Control F on a page opens the find bar of its terminal, wherever the focus is.

// onFindKey opens the find bar for a key that asks for it. Without a find bar, the key is the browser's.
export function onFindKey(event, terminal) {
  if (event.defaultPrevented || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'f') return
  if ((event.ctrlKey || event.metaKey) && terminal?.checkVisibility() && terminal.openFind()) event.preventDefault()
}
