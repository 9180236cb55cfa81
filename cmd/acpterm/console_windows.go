package main

// On Windows, the user is at the console, wherever standard input comes from.

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

func openConsole() (io.Reader, io.Writer, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, err
}

// enableColours tells a console to interpret escape sequences, and reports whether it does.
func enableColours(out *os.File) bool {
	var mode uint32
	console := windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// discardInput drops a console's unread input.
func discardInput(in *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(in.Fd()))
}

// hideTyping does nothing: a console shows no input that no program reads.
func hideTyping(*os.File) (undo func()) { return func() {} }

// passKeys makes the console pass on each key that the user types, including those that send signals. It returns a
// function that undoes this.
func passKeys(in *os.File) (undo func()) {
	return changeModes(in, windows.ENABLE_LINE_INPUT|windows.ENABLE_ECHO_INPUT|windows.ENABLE_PROCESSED_INPUT)
}

// awaitKeys makes the console pass on each key at once, except those that send signals, and keeps it from showing them.
// It returns a function that undoes this.
func awaitKeys(in *os.File) (undo func()) {
	return changeModes(in, windows.ENABLE_LINE_INPUT|windows.ENABLE_ECHO_INPUT)
}

func changeModes(in *os.File, without uint32) (undo func()) {
	var mode uint32
	console := windows.Handle(in.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return func() {}
	}
	windows.SetConsoleMode(console, mode&^without|windows.ENABLE_VIRTUAL_TERMINAL_INPUT)
	return func() { windows.SetConsoleMode(console, mode) }
}

// onSuspend does nothing: Windows does not suspend programs.
func onSuspend(before, after func()) {}
