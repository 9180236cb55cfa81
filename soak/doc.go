// Soak runs many commands through acpterm's exported API under load, searches /proc for remaining processes, and
// compares the output with the written bytes:
//
//	go run ./soak [-scale F] [-n N] [-seconds N] [-seed N] [-procs N] [-host KIND] all | SCENARIO…
//
// Each scenario prints one line of figures. The exit status is 1 if a figure that must be 0 is not. Linux only.
package main
