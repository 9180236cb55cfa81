package main

// Windows: this client does not sign in there.

import (
	"errors"
	"os"
)

func openTerminal() (*os.File, error) { return nil, errors.ErrUnsupported }

func onResize(func()) (stop func()) { return func() {} }
