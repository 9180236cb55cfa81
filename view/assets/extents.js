// Lines beside the lines of each group, in the gutter of a screen. They show where a group ends.

const colors = ['#0000', 'color-mix(in srgb, var(--acp-quiet) 70%, #0000)']

// showExtents shows the lines for the rows in view: one for the groups, and one for those within others. first is the
// number of the first row's line, which may begin above, and inView has the numbers of the rows, with false for those
// where no line begins. extents are pairs: the numbers of a group's first and last line.
export function showExtents(gutter, first, inView, extents) {
  const depths = [0, 0] // of the row before, for both lines: 1 within a group
  const stops = [[], []] // of gradients; a line of the gutter is as high as a row
  let number = first
  inView.concat(-1).forEach((of, row) => { // -1 ends the last extent
    number = of || number
    const around = extents.filter(([from, to]) => from <= number && number <= to).length
    for (const at of [0, 1]) {
      const within = Number(around > at)
      if (within !== depths[at]) stops[at].push(`${colors[depths[at]]} ${row}lh, ${colors[within]} ${row}lh`)
      depths[at] = within
    }
  })
  const lines = stops.map((each, at) => `linear-gradient(${each}) no-repeat right ${4 - 4 * at}px top / 2px 100%`)
  const background = lines.filter((_, at) => stops[at].length).join()
  if (gutter.dataset.groups !== background) gutter.dataset.groups = gutter.style.background = background
}
