package main

// On Windows, standard input and output are used unchanged, since they cannot be made pollable.

import "os"

func pollableStdio() (stdin, stdout *os.File) { return os.Stdin, os.Stdout }
