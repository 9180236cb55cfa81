// How many lines an output has.

// countLines returns the number of lines of a text at an address, or 0 without a connection.
export async function countLines(url, signal) {
  try {
    const response = await fetch(url, { signal })
    return response.ok ? 1 + await lineEnds(response.body) : 0
  } catch {
    return 0
  }
}

// lineEnds returns the number of line ends in a stream of bytes.
async function lineEnds(stream) {
  const reader = stream.getReader()
  let count = 0
  for (let read; !(read = await reader.read()).done;) {
    for (let at = -1; (at = read.value.indexOf(10, at + 1)) >= 0;) count++
  }
  return count
}
