// Soak runs many commands through acpterm's exported API under load, asks /proc what is left of them, and holds the
// output against what was written:
//
//	go run ./soak [-scale F] [-n N] [-seconds N] [-seed N] [-procs N] [-host KIND] all | SCENARIO…
//
// Each scenario prints one line of figures. The exit status is 1 if a figure that has to be 0 is not. Linux only.
package main
