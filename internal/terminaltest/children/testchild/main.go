// Testchild is the program of package children, for places where a test's own program cannot run.
package main

import "github.com/acpterm/acpterm/internal/terminaltest/children"

func main() { children.Main(nil) }
