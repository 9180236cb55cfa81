package acpterm

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestCallHook(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)

	if err := callHook("Policy", func() {}); err != nil || log.Len() > 0 {
		t.Errorf("of a function that returned: %v, log %q", err, log.String())
	}
	err := callHook("Policy", func() { panic("secret") })
	if !errors.Is(err, ErrInternal) || !strings.Contains(err.Error(), "Policy") || strings.Contains(err.Error(), "secret") {
		t.Errorf("of a function that panicked: %v", err)
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "TestCallHook") {
		t.Errorf("the panic is logged without its value or stack: %q", log.String())
	}
}
