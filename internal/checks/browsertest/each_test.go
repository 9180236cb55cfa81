package browsertest

// Tests that run in each browser: Chromium, Firefox, and WebKit. Browsers other than Chromium run only a few of them,
// but all in .ci/long.

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
)

// tab is a page in a browser.
type tab interface {
	test() testing.TB
	until(expression string)       // waits until it is true
	json(expression string) string // returns its value, which may be a promise's
	click(selector string)         // clicks an element of the terminal
	reload()
	resize(width, height int64)
	requireQuiet() // fails if the browser has reported a problem
	end()
}

// visitor is a browser. visit opens a page of 1000 by 700 pixels in a new window.
type visitor interface {
	visit(t testing.TB, url string) tab
}

var inEach = []struct {
	name string
	run  func(*testing.T, visitor)
	real bool // its commands are processes
}{
	{"output is live, the status changes, and both stay", testLive, false},
	{"a reload and a lost connection leave no gap and no repeat", testResuming, false},
	{"a connection on which nothing comes any more is noticed", testFrozen, false},
	{"an hour in the background or of sleep leaves nothing out", testHour, false},
	{"after the program's restart nothing is said of the old terminal", testRestarted, false},
	{"Stop ends the tree, and by force when pressed twice", testStop, true},
	{"a command was idle for too long, and another left a server", testIdleAndLeft, true},
	{"a command waits for input and listens on a port", testWaiting, true},
	{"without leave there is no Stop", testReadOnly, false},
	{"the menu moves a running command to the background", testBackground, false},
	{"a page that is too slow stays usable and sees what it missed", testSlow, false},
	{"switching between two commands never mixes them", testSwitching, false},
	{"output and commands are text", testText, false},
	{"the element works in another page", testOwnPage, false},
	{"a denied command shows the reason", testDenied, false},
	{"the styles of the page around do not reach into the element", testContained, false},
	{"a removed element holds nothing", testElementsLife, false},
	{"two views in one page", testTwoViews, false},
	{"ten terminals and eight windows are live at once", testMany, false},
	{"without WebSockets the page uses requests", testWithoutSockets, false},
	{"middleware that lets nothing be sent live is named", testMiddleware, false},
	{"wide characters have the columns of a terminal", testWide, false},
	{"the list is filtered, folded, and follows the newest command", testList, false},
	{"commands of earlier runs are in the list, and text is found in all output", testEarlierRuns, false},
	{"the list is filtered by text and by state, and says when nothing matches", testFilter, false},
	{"one menu copies the command, the output and a link", testMenu, false},
	{"the header has the signs of the list", testSigns, false},
	{"a copy of nothing leaves the clipboard alone", testCopyNothing, false},
	{"a time of another day has the day", testDays, false},
	{"lines have numbers and links", testLineNumbers, false},
	{"lines have numbers if the first are not kept", testNumbersOfKept, false},
	{"lines keep their numbers in a window of another size", testNumbersOfFull, false},
	{"lines have times on demand", testTimes, false},
	{"the parts of a long output have their times", testTimesOfParts, false},
	{"times that are not known are not shown", testUnknownTimes, false},
	{"the screen of a PTY has no times", testNoTimesOfPTYs, true},
	{"the groups of a command fold", testGroups, false},
	{"the first error is a click away", testFirstError, false},
	{"no output makes the page slow", testHostileOutput, false},
	{"what is loading looks like it", testLoading, false},
	{"find has choices for case, words and expressions", testFindChoices, false},
	{"the places of matches are beside the scrollbar", testRuler, false},
	{"the active match stands out", testActiveMatch, false},
	{"the count of matches goes on when the screen is full", testFindCount, false},
	{"no socket is closed while it connects", testNoSocketClosedEarly, false},
	{"odd fragments and long reasons", testOdd, false},
	{"the agent's terminals are in the same list, and marked", testBothKinds, false},
	{"output that the agent replaced is gone", testReplaced, false},
	{"Stop is there while the agent can be asked, and shows what it refuses", testAgentStop, false},
	{"terminals of the same id, and of odd ones, never mix", testSameIDs, false},
	{"a window that grows leaves all within reach", testGrowing, false},
	{"all that is kept can be read, found and copied", testWhole, false},
	{"a copy has the tabs and the lines that the command wrote", testCopies, false},
	{"a title and a notification tell of an end", testNotify, false},
	{"titles and notifications say whose command it is", testWhose, false},
	{"a long command is cut, and is a click away", testLongCommand, false},
	{"several managers and names of sessions", testSources, false},
	{"the user who types decides the size of a PTY, and others scale it", testPaneSize, true},
	{"two users who decide the size at once see the same", testSizesAtOnce, true},
	{"the page knows its own size, told late or not", testSizeAfterAnswer, true},
	{"keys that a touch keyboard lacks reach the command", testTouchKeys, true},
	{"a terminal fills the screen", testFullScreen, false},
	{"on phones, all fits and can be touched", testPhones, false},
	{"lines that are written again wrap", testProgress, false},
	{"groups say how long they were", testGroupLengths, false},
	{"groups show their extent and how long they took", testGroupExtents, false},
	{"the group with the first error opens", testGroupOfFirstError, false},
	{"without a connection groups stay as they are", testFoldOffline, false},
	{"a page of the host asks and hears the element", testElement, false},
	{"an error after a line that is cut off has its colour", testErrorAfterCutLine, false},
	{"the focus scrolls nothing out of a small pane", testFocusInSmallPane, false},
	{"find begins in view", testFindFromView, false},
	{"arrow keys go from heading to heading", testHeadingKeys, false},
	{"a folded heading keeps the focus", testFoldedHeadingKeepsFocus, false},
	{"screen readers find all lines and headings, and read new output out", testTranscript, false},
	{"screen readers say states, ends and errors", testSaid, false},
	{"the text for screen readers is that of the screen", testLongTranscript, false},
	{"the text for screen readers scrolls the screen, and nothing else", testLowTranscript, false},
	{"find gives the focus back", testFindByKeyboard, false},
	{"a low window has all that is known, a click away", testLowWindow, false},
	{"the outlines of matches and of a linked line are seen", testOutlines, false},
	{"replaced output has its own groups", testGroupsOfReplaced, false},
	{"errors have a colour, and dim text can be read", testErrorColours, false},
	{"on a phone the header has one line", testPhoneHeader, false},
	{"much output of a PTY is whole", testMuchOfPTY, true},
	{"a PTY has an ordinary size and a whole border", testPTYBorder, true},
	{"a jump does not flicker", testJump, false},
	{"an element in a panel that was hidden fills its pane", testHiddenPanel, false},
	{"a page from right to left leaves the text from left to right", testRightToLeft, false},
	{"common forms of errors are found, and ordinary lines are not", testErrorSigns, false},
	{"Control F finds before a click", testFindFirst, false},
	{"opening Find leaves a match in view", testFindInPlace, false},
	{"a copy while a group folds is whole", testCopyWhileFolding, false},
	{"a download has the bytes as written", testBytesAsWritten, false},
	{"a chosen command is there at once", testChoosing, false},
	{"what is typed arrives, also behind a proxy and after a failure", testTypedArrives, true},
	{"the title counts what is known to run", testTitle, false},
	{"the menu's link is that of the linked line", testLinkOfLine, false},
	{"the header and the lines have one clock", testOneClock, false},
	{"who runs a command is text", testBadge, false},
	{"errors are collected, and keys and a list lead to them", testErrors, false},
	{"the errors of a long output are all there", testErrorsOfLong, false},
	{"the errors of common tools have places", testErrorsOfTools, false},
	{"a time is a link, and the kind of times is kept", testTimeLinks, false},
	{"places in files open in the editor", testEditor, false},
	{"lines wrap at words", testWords, false},
	{"addresses are underlined", testUnderlined, false},
	{"the pane ends with its output", testPaneEnd, false},
	{"groups are indented, and their headings stay", testGroupLook, false},
	{"tests fold", testTestGroups, false},
	{"the commands of a shell fold", testPrompts, true},
	{"marks of prompts are found, and hurt nothing", testPromptMarks, false},
	{"many groups are there soon", testManyGroups, false},
	{"a frame draws what has changed once", testDrawOnce, false},
	{"much output needs few elements", testFewElements, false},
	{"a page is light, and a second visit loads no files", testWeight, false},
}

// inOthers lists the tests that a browser other than Chromium runs outside .ci/long: connections, text, selections, the
// cache, layout, and what users notice first.
var inOthers = []string{
	"a reload and a lost connection leave no gap and no repeat",
	"output and commands are text",
	"a copy has the tabs and the lines that the command wrote",
	"a page is light, and a second visit loads no files",
	"the user who types decides the size of a PTY, and others scale it",
	"on phones, all fits and can be touched",
	"the groups of a command fold",
	"the commands of a shell fold",
	"marks of prompts are found, and hurt nothing",
	"an element in a panel that was hidden fills its pane",
	"lines wrap at words",
	"addresses are underlined",
	"a page from right to left leaves the text from left to right",
	"a chosen command is there at once",
	"the header and the lines have one clock",
	"a long command is cut, and is a click away",
	"who runs a command is text",
	"on a phone the header has one line",
	"groups are indented, and their headings stay",
	"a PTY has an ordinary size and a whole border",
	"the pane ends with its output",
	"errors are collected, and keys and a list lead to them",
	"the errors of common tools have places",
	"places in files open in the editor",
	"tests fold",
	"a time is a link, and the kind of times is kept",
	"the title counts what is known to run",
	"the menu's link is that of the linked line",
	"what is typed arrives, also behind a proxy and after a failure",
}

// runInOther runs tests in a browser other than Chromium, one after another. Tests without processes run in parallel
// with those of other browsers.
func runInOther(t *testing.T, b visitor) {
	run := 0
	for _, real := range []bool{true, false} {
		if !real {
			t.Parallel()
		}
		for _, test := range inEach {
			if test.real == real && (longtest.Is() || slices.Contains(inOthers, test.name)) {
				run++
				t.Run(test.name, func(t *testing.T) { test.run(t, b) })
			}
		}
	}
	require.GreaterOrEqual(t, run, len(inOthers))
}

// jsonOf is a script for the value of an expression as JSON, or for the error that the expression threw.
func jsonOf(expression string) string {
	return "(async () => {" + library + "try { return JSON.stringify(await (" + expression + ")) ?? 'null' } catch (error) { return 'threw ' + error }})()"
}

// eval returns the value of an expression on the page. The test fails if the expression throws.
func eval[T any](p tab, expression string) (v T) {
	p.test().Helper()
	value := p.json(expression)
	require.NoError(p.test(), json.Unmarshal([]byte(value), &v), "%s: %.300s", expression, value)
	return v
}

// leastLooks is how often awaitTrue looks at least. On a machine that is busy with something else, a look takes seconds.
const leastLooks = 200

// awaitTrue waits until an expression is true.
func awaitTrue(p tab, expression string) {
	p.test().Helper()
	deadline := time.Now().Add(timeout)
	for looks := 1; p.json("!!("+expression+")") != "true"; looks++ {
		if time.Now().After(deadline) && looks >= leastLooks {
			p.requireQuiet()
			p.test().Fatalf("the page has not come to %s\nthe text begins and ends with %s\nthe state is %s\nthe note is %s\nthe page is %s",
				expression, p.json("[el.text.slice(0, 300), el.text.slice(-300)]"), p.json("el.row"),
				p.json("part('.note').textContent"), p.json("document.visibilityState"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// clickByScript clicks an element of the terminal, wherever the mouse is.
func clickByScript(p tab, selector string) {
	p.test().Helper()
	eval[bool](p, fmt.Sprintf(`(part(%q).click(), true)`, selector))
}
