// The styles of xterm.js under a strict content security policy. xterm.js creates <style> elements and style
// attributes, which a policy without 'unsafe-inline' blocks. This file uses the CSS object model instead, which is
// allowed.

// openStyled opens a terminal in an element of a shadow root. It replaces document.createElement while xterm.js creates
// its <style> elements. An internal object creates the elements of the output later; this uses internals of the
// vendored version 6.0.0.
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

// dim matches the colours of dim text, which are half transparent, too faint to read.
const dim = /(xterm-dim ?{ ?color: ?)(#\w{6})80/g

// sheetOf makes the placeholder of a <style>. Setting its text replaces a style sheet. Dim text is mixed with a
// grey instead that is easy to read.
function sheetOf(root, placeholder) {
  const sheet = new CSSStyleSheet()
  root.adoptedStyleSheets.push(sheet)
  return Object.defineProperty(placeholder, 'textContent', {
    set(css) { sheet.replaceSync(css.replace(dim, '$1color-mix(in srgb,$2 25%,light-dark(#727272,#8f98a3))')) },
  })
}

function styled(made) {
  made.setAttribute = setAttribute
  return made
}

/** @this {HTMLElement} */
function setAttribute(name, value) {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
