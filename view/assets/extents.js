// A line beside the lines of each group, in the gutter of a screen. It shows where a group ends.

const colors = ['#0000', 'var(--acp-line)']

// showExtents shows the line for the rows in view. first is the number of the first row's line, which may begin above,
// and inView has the numbers of the rows, with false for those where no line begins. extents are pairs: the numbers of a
// group's first and last line.
export function showExtents(gutter, first, inView, extents) {
  const stops = [] // of a gradient; a line of the gutter is as high as a row
  let number = first
  let before = 0
  inView.concat(-1).forEach((of, row) => { // -1 ends the last extent
    number = of || number
    const within = Number(extents.some(([from, to]) => from <= number && number <= to))
    if (within !== before) stops.push(`${colors[before]} ${row}lh, ${colors[within]} ${row}lh`)
    before = within
  })
  const line = stops.length ? `linear-gradient(${stops}) no-repeat right / 2px 100%` : ''
  if (gutter.dataset.groups !== line) gutter.dataset.groups = gutter.style.background = line
}
