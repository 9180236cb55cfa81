package main

// Windows: the person is at the console, wherever standard input comes from.

import (
	"io"
	"os"
)

func openConsole() (io.Reader, io.Writer, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	return in, out, err
}
