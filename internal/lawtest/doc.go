// Package lawtest tests the laws of commands: their output, exit and end, on each system and in each kind of host.
package lawtest
