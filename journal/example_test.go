//go:build unix

package journal_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/journal"
)

// At its start, a program ends the remaining processes of an earlier killed instance, and then keeps its own records.
func ExampleRecover() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "journal") // in a program, a permanent directory of the user
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	recovered, err := journal.Recover(ctx, dir)
	for _, r := range recovered {
		fmt.Println(r.Command, "was running:", r.Ended, "are ended,", r.Survivors, "run still")
	}
	if err != nil {
		fmt.Println(err)
	}
	m, err := acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(dir)})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	if _, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "sleep 3600"}, nil); err != nil {
		log.Fatal(err)
	}
	records, err := os.ReadDir(dir)
	fmt.Println(len(records), "record", err)
	// Output: 1 record <nil>
}
