// What xterm.js does to draw, without the work that it repeats. This uses internals of the vendored version 6.0.0.

const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
const repeats = 32 // of a character that is measured, as xterm.js has it

// drawOnce makes an open terminal draw its rows and its scrollbar once for each frame, and measure its characters together.
export function drawOnce(xterm) {
  const { _renderService: service, _viewport: viewport } = xterm._core
  const renderer = service._renderer.value, { handleSelectionChanged } = renderer
  let selected = false
  renderer.handleSelectionChanged = (start, end, column) => { // after each scroll
    if (selected || start && end) handleSelectionChanged.call(renderer, start, end, column)
    selected = !!(start && end)
  }
  syncOnce(service, viewport)
  measureTogether(renderer._widthCache)
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

// measureTogether makes a cache measure all printable characters of ASCII when it needs the first of them. One by one,
// each takes a layout of the page.
function measureTogether(cache) {
  const measure = cache._measure
  cache._measure = (text, variant) => {
    if (!printable.includes(text)) return measure.call(cache, text, variant)
    const { style, parentNode } = cache._measureElements[variant]
    const probes = printable.map(character => {
      const probe = document.createElement('span')
      probe.style.cssText = style.cssText
      probe.textContent = character.repeat(repeats)
      return probe
    })
    parentNode.append(...probes)
    const widths = probes.map(probe => probe.offsetWidth / repeats)
    for (const probe of probes) probe.remove()
    const kind = (variant & 1 ? 'B' : '') + (variant & 2 ? 'I' : '')
    if (widths[0]) widths.forEach((width, at) => { // else they are not visible
      if (kind) cache._holey.set(printable[at] + kind, width)
      else cache._flat[32 + at] = width
    })
    return widths[printable.indexOf(text)]
  }
}
