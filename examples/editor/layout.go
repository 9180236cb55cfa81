package main

// This file divides the screen: the conversation is above the panes, or beside them in a wide window. A dialog is below
// both, and takes lines from them.

const (
	tailCount = 2   // lines of a running command whose pane is not open
	openLines = 6   // minimum of the open pane before others get lines
	wideWidth = 160 // of windows with the conversation beside the panes

	commandBytes = 1000 // of a command in a title
)

// layout has the size of each part.
type layout struct {
	talkWidth, paneWidth int
	talk                 int        // lines of the conversation
	open                 int        // lines of the output in the open pane
	first                int        // the first pane whose bar is shown
	tails                [][]string // for each pane whose bar is shown, the output below the bar
}

// beside reports whether the conversation is beside the panes.
func (l *layout) beside() bool { return l.talkWidth < l.paneWidth }

func (m *model) newLayout() layout {
	l := layout{talkWidth: m.width, paneWidth: m.width}
	body := max(0, m.height-3) // without the header, the prompt and the help
	if len(m.dialogs) > 0 {
		body -= m.dialogs[0].resize(m.width, body*3/5)
	}
	switch {
	case len(m.panes) == 0 && m.screen.log.text() == "":
		l.talk = body
	case m.width >= wideWidth:
		l.talkWidth = m.width * 2 / 5
		l.paneWidth = m.width - l.talkWidth - 1
		l.talk = body
		m.dividePanes(&l, body)
	default:
		l.talk = body * 2 / 5
		m.dividePanes(&l, body-l.talk)
	}
	return l
}

// dividePanes gives each pane near the open one a bar, running ones also some lines of output, and the open one the
// rest.
func (m *model) dividePanes(l *layout, height int) {
	bars := min(len(m.panes)+1, max(1, height/3))
	l.first = min(max(0, m.chosen-bars/2), len(m.panes)+1-bars)
	l.tails = make([][]string, bars)
	l.open = max(0, height-bars)
	for i := range l.tails {
		pane := l.first + i
		if pane == m.chosen || pane == 0 || !m.panes[pane-1].Running() {
			continue
		}
		text, _ := m.panes[pane-1].Text()
		tail := lastLines(text, tailCount, l.paneWidth-2)
		if l.open-len(tail) >= openLines {
			l.tails[i] = tail
			l.open -= len(tail)
		}
	}
}
