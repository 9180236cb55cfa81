// Streams of events, over WebSockets or else read with fetch. A browser opens a WebSocket for each page, but only six
// requests per server. Both have backpressure: a slow page does not queue messages, and the server skips output for it.

// missedHeartbeats is how many of the server's heartbeats may be missing before a connection counts as dead.
const missedHeartbeats = 3

// final are the problems that a retry does not solve.
const final = new Set(['forbidden', 'gone', 'impossible'])

// follow calls onEvent with each event and awaits it, until the event "end", a 403, 404 or 501, or the signal. It
// reconnects after the last id, also if nothing more arrives: after a laptop's sleep, or through a frozen proxy. While
// the page is hidden, it has no connection, except a WebSocket of a background stream. onConnection receives "open",
// "lost", "busy", "gone", "forbidden", or "impossible" and the reason; and, for a background stream, "hidden". first is
// the text of events that come before the first connection, or ''. Without it, follow begins to connect at once.
export async function follow(url, { onEvent, onConnection, signal, background = false, first = '' }) {
  let lastID = ''
  let stays = false // connected while the page is hidden
  let heartbeat = 5000 // milliseconds; the server sends the value
  if (first) {
    for await (const event of parse([first])) {
      await onEvent(event)
      if (event.id) lastID = event.id
    }
  }
  while (!signal.aborted) {
    if (!stays && document.hidden) await visible(signal)
    const hidden = new AbortController()
    const onHide = () => { if (document.hidden && !stays) hidden.abort() }
    document.addEventListener('visibilitychange', onHide)
    let problem = 'lost'
    const silence = watch(() => missedHeartbeats * heartbeat)
    const stop = AbortSignal.any([signal, hidden.signal, silence.signal])
    try {
      silence.begin()
      const socket = await bySocket(url, lastID, stop)
      stays = background && !!socket
      if (!socket && document.hidden) continue
      const { status, chunks, reason } = socket ?? await byFetch(url, lastID, stop)
      if (status !== 200) {
        problem = { 403: 'forbidden', 404: 'gone', 501: 'impossible', 503: 'busy' }[status] ?? 'lost'
        if (final.has(problem)) return onConnection(problem, reason)
      } else {
        onConnection('open')
        for await (const event of parse(chunks, silence)) {
          if (event.heartbeat) heartbeat = event.heartbeat
          if (event.type === 'end') return
          if (event.data) await onEvent(event)
          if (event.id) lastID = event.id
        }
      }
    } catch (error) {
      if (!stop.aborted && error.name !== 'TypeError' && error.name !== 'AbortError') throw error
    } finally {
      silence.end()
      document.removeEventListener('visibilitychange', onHide)
    }
    if (hidden.signal.aborted && background) onConnection('hidden')
    if (hidden.signal.aborted || signal.aborted) continue
    onConnection(problem)
    await new Promise(resolve => setTimeout(resolve, problem === 'busy' ? 2000 : 1000))
  }
}

// byFetch returns the status of a request, and either the text chunks of the response or the reason for the failure.
async function byFetch(url, lastID, signal) {
  const response = await fetch(url, { headers: lastID ? { 'Last-Event-ID': lastID } : {}, signal })
  const { status, ok } = response
  return ok ? { status, chunks: textOf(response.body) } : { status, reason: (await response.text()).trim().slice(0, 300) }
}

async function* textOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read; !(read = await reader.read()).done;) yield read.value
}

// bySocket is like byFetch, but uses a WebSocket. It returns null if that does not open; browsers do not say why.
async function bySocket(url, lastID, signal) {
  const address = new URL(url, location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  if (lastID) address.searchParams.set('after', lastID)
  const socket = new WebSocket(address)
  const opened = await new Promise(resolve => {
    socket.onopen = () => resolve(true)
    socket.onclose = () => resolve(false)
    signal.addEventListener('abort', () => {
      resolve(false)
      closeOnceOpen(socket)
    }, { once: true })
  })
  signal.throwIfAborted()
  return opened ? { status: 200, chunks: messagesOf(socket, signal) } : null
}

// closeOnceOpen closes a socket, but not while it connects, because browsers warn about that. A connection that takes
// long is given up.
function closeOnceOpen(socket) {
  if (socket.readyState !== WebSocket.CONNECTING) return socket.close()
  const limit = setTimeout(() => socket.close(), 10_000)
  socket.onclose = () => clearTimeout(limit)
  socket.onopen = () => socket.close()
}

// messagesOf yields the texts of a socket's messages. It answers each message when the caller requests the next one,
// and the server sends no other before. The caller must request the first in the same task as the socket's open event,
// before a message can arrive.
async function* messagesOf(socket, signal) {
  const waiting = []
  /** @type {(value?: unknown) => void} */
  let wake = () => {}
  socket.onmessage = ({ data }) => { waiting.push(data); wake() }
  socket.onclose = () => { waiting.push(null); wake() }
  signal.addEventListener('abort', () => { waiting.push(null); wake() }, { once: true })
  try {
    for (;;) {
      if (!waiting.length) await new Promise(resolve => { wake = resolve })
      const text = waiting.shift()
      if (text === null) return signal.throwIfAborted()
      yield text
      if (socket.readyState === WebSocket.OPEN) socket.send('')
    }
  } finally {
    socket.close()
  }
}

// watch returns a signal that aborts when a read has waited for more than limit() milliseconds, or when the network
// comes back during the wait. It uses the system clock, which advances while a laptop sleeps.
function watch(limit) {
  const dead = new AbortController()
  let since = 0 // start of the current read, or 0
  const look = () => { if (since && Date.now() - since > limit()) dead.abort() }
  const onOnline = () => { if (since) dead.abort() }
  const timer = setInterval(look, 500)
  addEventListener('online', onOnline)
  return {
    signal: dead.signal,
    begin() { since = Date.now() },
    pause() { since = 0 },
    end() {
      clearInterval(timer)
      removeEventListener('online', onOnline)
    },
  }
}

/** @returns {Promise<void>} */
function visible(signal) {
  return new Promise(resolve => {
    const look = () => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
    look()
  })
}

// parse yields the events of a stream: { type, id, data, heartbeat, more }, with the data decoded. more says that
// output has come after it. Only reads count as silence, not the time spent on an event.
async function* parse(chunks, silence = { begin() {}, pause() {} }) {
  let text = ''
  silence.begin()
  for await (const chunk of chunks) {
    silence.pause()
    text += chunk
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const next = text.indexOf('\n\nid: ', end), more = next >= 0 && text.indexOf('\n\n', next + 2) > 0
      const event = { type: 'message', id: '', data: null, heartbeat: 0, more }
      for (const line of text.slice(0, end).split('\n')) {
        if (line.startsWith('event: ')) event.type = line.slice(7)
        else if (line.startsWith('id: ')) event.id = line.slice(4)
        else if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
        else if (line.startsWith('heartbeat: ')) event.heartbeat = Number(line.slice(11))
      }
      yield event
    }
    silence.begin()
  }
}
