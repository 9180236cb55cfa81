// Server-sent events, read with fetch: unlike EventSource it has backpressure, so a slow page does not queue messages, and
// the server skips output for it.

// missedHeartbeats is how many of the server's heartbeats may be missing before a connection counts as dead.
const missedHeartbeats = 3

// follow calls onEvent with each event and awaits it, until the event "end", a 403 or 404, or the signal. It reconnects
// after the last id, also if nothing came any more: after a laptop's sleep, or through a proxy that froze. It has no
// connection while the page is hidden, since a browser opens only six to a server. onConnection receives "open", "lost",
// "busy", "gone" or "forbidden".
export async function follow(url, { onEvent, onConnection, signal }) {
  let lastID = ''
  let heartbeat = 5000 // milliseconds; the server says how many
  while (!signal.aborted) {
    await visible(signal)
    const hidden = new AbortController()
    const onHide = () => { if (document.hidden) hidden.abort() }
    document.addEventListener('visibilitychange', onHide)
    let problem = 'lost'
    const silence = watch(() => missedHeartbeats * heartbeat)
    try {
      silence.begin()
      const response = await fetch(url, {
        headers: lastID ? { 'Last-Event-ID': lastID } : {},
        signal: AbortSignal.any([signal, hidden.signal, silence.signal]),
      })
      heartbeat = Number(response.headers.get('Acp-Heartbeat')) || heartbeat
      if (!response.ok) {
        problem = { 403: 'forbidden', 404: 'gone', 503: 'busy' }[response.status] ?? 'lost'
        if (problem === 'forbidden' || problem === 'gone') return onConnection(problem)
      } else {
        onConnection('open')
        for await (const event of parse(response.body, silence)) {
          if (event.type === 'end') return
          await onEvent(event)
          if (event.id) lastID = event.id
        }
      }
    } catch (error) {
      if (!hidden.signal.aborted && !signal.aborted && error.name !== 'TypeError' && error.name !== 'AbortError') throw error
    } finally {
      silence.end()
      document.removeEventListener('visibilitychange', onHide)
    }
    if (hidden.signal.aborted || signal.aborted) continue
    onConnection(problem)
    await new Promise(resolve => setTimeout(resolve, problem === 'busy' ? 2000 : 1000))
  }
}

// watch returns a signal that aborts when a read has waited for longer than limit() milliseconds, or the network is back
// while it waits. The time is that of the clock, which goes on while a laptop sleeps.
function watch(limit) {
  const dead = new AbortController()
  let since = 0 // when the read began; 0: there is none
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

// parse yields the events of a stream: { type, id, data }, with the data decoded. Only its reads count as silence, not
// the time that an event takes.
async function* parse(body, silence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    silence.begin()
    const { done, value } = await reader.read()
    silence.pause()
    if (done) return
    text += value
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const event = { type: 'message', id: '', data: null }
      for (const line of text.slice(0, end).split('\n')) {
        if (line.startsWith('event: ')) event.type = line.slice(7)
        else if (line.startsWith('id: ')) event.id = line.slice(4)
        else if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
      }
      if (event.data) yield event
    }
  }
}
