// The style sheets of the element.

const files = ['./xterm/xterm.css', './acp-terminal.css']

// addSheets adds the sheets to a shadow root, and resolves when they are loaded. In the bundle,
// internal/checks/browsertest/bundle/sheets.js replaces this file: its sheets need no requests.
export function addSheets(root) {
  return Promise.all(files.map(file => new Promise(resolve => {
    const link = document.createElement('link')
    link.onload = link.onerror = resolve
    link.rel = 'stylesheet'
    link.href = new URL(file, import.meta.url).href
    root.append(link)
  })))
}
