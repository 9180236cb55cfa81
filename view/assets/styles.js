// The styles of xterm.js under a strict content security policy. xterm.js makes <style> elements and style attributes,
// which a policy without 'unsafe-inline' blocks. It allows the CSS object model, which this file uses in their place.

// openStyled opens a terminal in an element of a shadow root. It replaces document.createElement during the opening, in
// which xterm.js makes its <style> elements. The elements of the output are made later, by an internal object that is
// addressed as in the vendored version 6.0.0.
export function openStyled(xterm, parent, root) {
  const before = Object.getOwnPropertyDescriptor(document, 'createElement')
  const make = (...tag) => document.constructor.prototype.createElement.apply(document, tag)
  const createElement = tag => tag === 'style' ? sheetOf(root, make('span')) : styled(make(tag))
  Object.defineProperty(document, 'createElement', { configurable: true, value: createElement })
  try {
    xterm.open(parent)
  } finally {
    delete document.createElement
    if (before) Object.defineProperty(document, 'createElement', before)
  }
  xterm._core._renderService._renderer.value._rowFactory._document = { createElement }
}

// sheetOf makes the placeholder of a <style>: setting its text replaces a style sheet.
function sheetOf(root, placeholder) {
  const sheet = new CSSStyleSheet()
  root.adoptedStyleSheets.push(sheet)
  return Object.defineProperty(placeholder, 'textContent', { set: css => sheet.replaceSync(css) })
}

function styled(made) {
  made.setAttribute = setAttribute
  return made
}

function setAttribute(name, value) {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
