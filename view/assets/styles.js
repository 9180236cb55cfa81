// Styles under a strict content security policy. xterm.js makes <style> elements and style attributes, which a policy
// without 'unsafe-inline' ignores. What a script sets through the CSS object model it does not forbid, so here the
// former become that, and no nonce has to be handed around.

// openStyled opens a terminal in a part of a shadow root. For the moment of the opening, in which xterm.js makes its
// <style> elements, document.createElement is another one. The elements for the output, which may have any color, are made
// all the time, by an object that is not xterm.js's to show: it is named here as it is in version 6.0.0, which is the one
// that comes with this file.
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

// sheetOf makes an element that is in place of a <style>: what is its text is a sheet's.
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
