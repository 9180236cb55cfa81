// The style sheets of the element.

const files = ['./xterm/xterm.css', './acp-terminal.css', './later.css']

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

/**
 * addLater adds the styles of the bundle's later.js. Outside the bundle, addSheets adds them.
 * @type {(styles?: string) => void}
 */
export const addLater = () => {}
