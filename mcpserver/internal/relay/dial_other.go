//go:build !linux && !darwin && !freebsd && !windows

package relay

import "errors"

func dial(string) (halfConn, error) { return nil, errors.ErrUnsupported }
