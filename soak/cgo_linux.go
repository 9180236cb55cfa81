//go:build cgo && soakcgo

package main

import "C" // a program with cgo starts threads and handles signals differently
