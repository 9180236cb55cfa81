// Links in output: addresses in the text that begin with http:// or https://. Escape sequences for links have no
// effect, because they can show one address and lead to another.

import { placesIn } from './firsterror.js'
import { InView } from './inview.js'
import { mayLink } from './marks.js'

// address ends at a character that hides or reorders others: the page would not show the address that opens. Unicode
// names them: controls, formats, private and unassigned ones (C), those that a font need not show
// (Default_Ignorable_Code_Point), and all spaces; U+2800 is an empty Braille pattern.
const address = /https?:\/\/[^\s"'<>`{}|\\^\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu

// linksAt returns the links in the line that contains row y, for xterm.js.
export function linksAt(xterm, y, host) {
  const { text, places } = lineAt(xterm, y)
  const links = allIn(text, host).map(({ index, text, activate }) => ({
    text, range: { start: places[index], end: places[index + text.length - 1] }, activate,
  }))
  return links.length ? links : undefined
}

// allIn returns the links in a text: addresses, and the places in files if the user has an editor.
function allIn(text, host) {
  const links = linksIn(text).map(({ index, address }) => ({ index, text: address, activate: () => follow(address) }))
  for (const place of host.row()?.editor ? placesIn(text) : []) {
    const { index } = place, end = index + place.text.length
    if (!links.some(link => link.index < end && link.index + link.text.length > index)) {
      links.push({ index, text: place.text, activate: () => edit(place, host) })
    }
  }
  return links
}

// edit opens a place in the user's editor.
export async function edit({ file, line, column }, host) {
  const { editor, dir } = host.row(), signal = host.signal()
  if (editor !== 'command') {
    const path = /^(?:[\\/]|[A-Za-z]:)/.test(file) ? file : `${dir}/${file.replace(/^\.\//, '')}`
    const values = { file: encodeURI(path).replace(/[?#]/g, encodeURIComponent), line, column: column || 1 }
    return location.assign(editor.replace(/\{(file|line|column)\}/g, (_, name) => values[name]))
  }
  const query = new URLSearchParams({ file, line, column })
  try {
    const response = await fetch(`${host.src()}/edit?${query}`, { method: 'POST', headers: { 'Acp-Terminal': 'edit' } })
    if (!response.ok) host.say(`Not opened: ${(await response.text()).trim()}`, signal)
  } catch {
    host.say('Not opened: the connection is lost.', signal)
  }
}

// underline shows where links are.
export function underline(xterm, host) {
  new InView(xterm, (first, last) => {
    const buffer = xterm.buffer.active, found = []
    for (let y = startOf(buffer, first); y <= last; y++) {
      let text = buffer.getLine(y)?.translateToString() ?? '', end = y
      while (end < last && buffer.getLine(end + 1)?.isWrapped) text += buffer.getLine(++end).translateToString()
      if (mayLink(text, host.row())) found.push(...linksOn(xterm, y, host).filter(({ row }) => row >= first && row <= last))
      y = end
    }
    return found
  }, true)
}

// linksOn returns decorations for the links in the line that begins in row y, one for each row of a link.
function linksOn(xterm, y, host) {
  const { text, places } = lineAt(xterm, y), parts = new Map()
  for (const { index, text: link } of allIn(text, host)) {
    for (const { x, y: row } of places.slice(index, index + link.length)) {
      const part = parts.get(`${index} ${row}`)
      if (part) part.width = x - part.x
      else parts.set(`${index} ${row}`, { row: row - 1, x: x - 1, width: 1, show: shown => shown.classList.add('address') })
    }
  }
  return [...parts.values()]
}

// startOf returns the first row of the line that contains row y.
function startOf(buffer, y) {
  let first = y
  while (first > 0 && y - first < 50 && buffer.getLine(first)?.isWrapped) first--
  return first
}

// linksIn returns the index of each address in a text, and the address.
export function linksIn(text) {
  return [...text.matchAll(address)].map(({ index, 0: found }) => {
    while ('.,:;!?)]'.includes(found.at(-1))) found = found.slice(0, -1) // probably punctuation of the sentence
    return { index, address: found }
  })
}

// follow opens an address in a new window, if the user agrees.
export function follow(address) {
  if (confirm(`Open this address, which a command has printed?\n\n${address}`)) open(address, '_blank', 'noopener,noreferrer')
}

// lineAt returns the text of the whole line that contains row y, and the place of each of its code units, counted from
// 1. A cell may have several: xterm.js puts characters without a width into the cell before them.
function lineAt(xterm, y) {
  const buffer = xterm.buffer.active, first = startOf(buffer, y)
  let text = ''
  const places = []
  for (let row = first; row === first || row - first < 100 && buffer.getLine(row)?.isWrapped; row++) {
    const line = buffer.getLine(row)
    if (!line) break
    const isEmpty = x => !line.getCell(x).getCode() && line.getCell(x).getWidth() === 1
    let x = 0, end = xterm.cols
    while (line.isWrapped && x < end && isEmpty(x)) x++ // an indent
    while (buffer.getLine(row + 1)?.isWrapped && end > x && isEmpty(end - 1)) end-- // the next word is below
    for (; x < end; x++) {
      const cell = line.getCell(x)
      if (cell.getWidth() === 0) continue // the second half of a wide character
      text += cell.getChars() || ' '
      while (places.length < text.length) places.push({ x: x + 1, y: row + 1 })
    }
  }
  return { text, places }
}
