package main

// On Windows, the user is at the console, wherever standard input comes from.

import (
	"errors"
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

// onSuspend does nothing: Windows does not suspend programs.
func onSuspend(before, after func()) {}

func openTerminal() (*os.File, error) { return nil, errors.ErrUnsupported }

func onResize(func()) (stop func()) { return func() {} }
