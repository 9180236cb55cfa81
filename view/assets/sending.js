// What the user types, and the size of the user's pane, on their way to a command with a PTY.

// maxRequest and maxWaiting are in bytes. The server allows maxRequest per request.
const maxRequest = 64 << 10
const maxWaiting = 1 << 20

// sender returns a function that sends texts to a terminal in order: one request at a time, each with everything typed
// during the previous one. onProblem receives the reason why a text has not arrived, and '' after the next success.
// After the signal, sending is not retried.
export function sender(url, { onProblem, signal }) {
  const encoder = new TextEncoder()
  let waiting = new Uint8Array(0)
  let sending = false
  let problem = ''
  const report = text => { if (text !== problem) onProblem(problem = text) }

  async function sendAll() {
    sending = true
    while (waiting.length) {
      const piece = waiting.subarray(0, maxRequest)
      const { busy, failure } = await post(url, piece)
      report(failure)
      if (busy && !signal.aborted) await new Promise(resolve => setTimeout(resolve, 1000))
      else waiting = waiting.subarray(failure ? waiting.length : piece.length)
    }
    sending = false
  }

  return text => {
    const more = encoder.encode(text)
    if (waiting.length + more.length > maxWaiting) return report('Not typed: it is too much at once.')
    const all = new Uint8Array(waiting.length + more.length)
    all.set(waiting)
    all.set(more, waiting.length)
    waiting = all
    if (!sending) sendAll()
  }
}

// resizer asks for a size of the PTY: one request at a time, and the last size in the end.
export function resizer(url, signal) {
  let wanted = null
  let asking = false
  let asked = [] // sizes of the requests under way; without one, the last size, until another viewer decides
  return {
    async ask(size) {
      wanted = size
      if (!asking) asked = []
      asked.push({ ...size, seen: false })
      if (asking) return
      asking = true
      while (wanted && !signal.aborted) {
        const { columns, rows } = wanted
        wanted = null
        await fetch(`${url}?columns=${columns}&rows=${rows}`, { method: 'POST', headers: { 'Acp-Terminal': 'size' } }).catch(() => {})
      }
      asking = false
      asked.splice(0, asked.length - 1)
    },

    // decided reports whether this page has asked for the size that the PTY has got. A size of another viewer may come
    // before an own size or after it, and both before the answer to the request or after it.
    decided({ columns, rows }) {
      const mine = asked.find(size => size.columns === columns && size.rows === rows)
      if (mine) mine.seen = true
      else if (!asking && asked.every(size => size.seen)) asked = []
      return !!mine
    },
  }
}

// post sends one request. It does not resend a text that may have arrived.
async function post(url, body) {
  try {
    const response = await fetch(url, { method: 'POST', headers: { 'Acp-Terminal': 'input' }, body })
    if (response.ok) return { failure: '' }
    if (response.status === 503) return { busy: true, failure: 'The command does not read what is typed.' }
    return { failure: `Not typed: ${await response.text()}` }
  } catch {
    return { failure: 'The connection is lost; what was typed last may not have arrived.' }
  }
}
