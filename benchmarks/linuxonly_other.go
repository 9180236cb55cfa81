//go:build !linux

package main

// The rows that are for Linux alone, elsewhere.

const linuxOnly = "Linux only"

func idleRows() []row   { return []row{{name: "500 idle terminals", without: linuxOnly}} }
func exitRows() []row   { return []row{{name: "exit to the wait's reply", without: linuxOnly}} }
func killRows() []row   { return []row{{name: "kill of a tree of three", without: linuxOnly}} }
func memoryRows() []row { return []row{{name: "memory while much is captured", without: linuxOnly}} }
func crowdRows() []row  { return []row{{name: "1,000 terminals writing at once", without: linuxOnly}} }

// linuxChildren are the children that are for Linux alone.
func linuxChildren() map[string]func(args []string) error { return nil }

func keepDescriptors() {}

func wireFloors(int) []subject { return nil }

func nappingSubjects(amounts, int) []subject { return nil }
