package main

// On Windows, this client does not sign in.

import (
	"errors"
	"os"
)

func openTerminal() (*os.File, error) { return nil, errors.ErrUnsupported }

func onResize(func()) (stop func()) { return func() {} }
