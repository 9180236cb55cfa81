package main

// Standard input and output as they are: Windows knows no better.

import "os"

func pollableStdio() (stdin, stdout *os.File) { return os.Stdin, os.Stdout }
