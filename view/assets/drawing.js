// What xterm.js does to draw, without the work that it repeats. This uses internals of the vendored version 6.0.0.

const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
const repeats = 32 // of a character that is measured, as xterm.js has it
const measured = new Map() // widths of the printable characters, by the style of the text

// drawOnce makes an open terminal draw its rows and its scrollbar once for each frame, with few elements, and measure its
// characters together.
export function drawOnce(xterm) {
  const { _renderService: service, _viewport: viewport } = xterm._core
  const renderer = service._renderer.value, { handleSelectionChanged } = renderer
  let selected = false
  renderer.handleSelectionChanged = (start, end, column) => { // after each scroll
    if (selected || start && end) handleSelectionChanged.call(renderer, start, end, column)
    selected = !!(start && end)
  }
  syncOnce(service, viewport)
  measureTogether(Object.getPrototypeOf(renderer._widthCache))
  joinCells(renderer._rowFactory)
}

// joinCells makes cells under a decoration without colours one element, like others. xterm.js makes one of each.
function joinCells(factory) {
  const all = factory._decorationService
  factory._decorationService = {
    forEachDecorationAtCell(x, line, layer, callback) {
      all.forEachDecorationAtCell(x, line, layer, found => {
        if (found.options.backgroundColor || found.options.foregroundColor) callback(found)
      })
    },
  }
}

// syncOnce makes the scrollbar follow the rows before a frame or a scroll. xterm.js does so after each line.
function syncOnce(service, viewport) {
  const { _sync: sync } = viewport
  let due = false
  const now = () => {
    if (due) sync.call(viewport)
    due = false
  }
  viewport._sync = (...row) => {
    if (row.length) return sync.apply(viewport, row)
    if (!due) service.addRefreshCallback(now)
    due = true
  }
  for (const name of ['scrollLines', 'scrollToLine']) {
    const scroll = viewport[name]
    viewport[name] = (...to) => {
      now()
      scroll.apply(viewport, to)
    }
  }
}

// measureTogether makes all caches of widths measure the printable characters of ASCII when one needs the first of them,
// once for each style. One by one, each takes a layout of the page.
function measureTogether(caches) {
  if (caches.together) return
  caches.together = true
  const measure = caches._measure
  caches._measure = function(text, variant) {
    if (!printable.includes(text)) return measure.call(this, text, variant)
    const { style, parentNode } = this._measureElements[variant]
    const name = [parentNode.style.cssText, style.cssText, devicePixelRatio].join()
    const widths = measured.get(name) ?? widthsIn(parentNode, style)
    if (widths[0]) { // else they are not visible
      measured.set(name, widths)
      const kind = (variant & 1 ? 'B' : '') + (variant & 2 ? 'I' : '')
      widths.forEach((width, at) => {
        if (kind) this._holey.set(printable[at] + kind, width)
        else this._flat[32 + at] = width
      })
    }
    return widths[printable.indexOf(text)]
  }
}

// widthsIn measures the printable characters in an element.
function widthsIn(parent, { cssText }) {
  const probes = printable.map(character => {
    const probe = document.createElement('span')
    probe.style.cssText = cssText
    probe.textContent = character.repeat(repeats)
    return probe
  })
  parent.append(...probes)
  const widths = probes.map(probe => probe.offsetWidth / repeats)
  for (const probe of probes) probe.remove()
  return widths
}
