// The style sheets of the element, in the bundle. It replaces view/assets/sheets.js.
import xterm from './xterm/xterm.css'
import own from './acp-terminal.css'

// The last is for the styles of later.js.
const sheets = [xterm, own, ''].map(text => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(text)
  return sheet
})

export function addSheets(root) {
  root.adoptedStyleSheets.push(...sheets)
}

export function addLater(styles) {
  sheets[2].replaceSync(styles)
}
