package acpterm

// How a command writes, as its reader sees it. It knows numbers and the time.

import (
	"errors"
	"time"
)

// speed is one of these. Which is which was measured: see BENCHMARKS.md.
type speed int

const (
	moderate speed = iota // it pauses, or writes some kilobytes at a time
	often                 // without end, and little at a time
	amply                 // without end, and much at a time
	unknown               // much came at once, and how it was written is to be seen
)

const (
	speedReads = 16 // are looked at together
	oftenTime  = time.Millisecond
	oftenMean  = 1 << 10 // bytes at once, less than that
	amplyTime  = 4 * time.Millisecond
	amplyLeast = 12 << 10 // bytes at once, each time
)

// pace tells the speed from reads that follow each other. The zero value is ready.
type pace struct {
	reads, bytes, least int
	since               time.Time
}

// read counts a read of n bytes, and returns the speed; it is moderate until there were enough of them.
func (p *pace) read(n int) speed {
	if p.reads == 0 {
		p.since, p.least = time.Now(), n
	}
	p.bytes += n
	p.least = min(p.least, n)
	if p.reads++; p.reads < speedReads {
		return moderate
	}
	took, mean, least := time.Since(p.since), p.bytes/p.reads, p.least
	*p = pace{}
	switch {
	case took < oftenTime && mean < oftenMean:
		return often
	case took < amplyTime && least >= amplyLeast:
		return amply
	}
	return moderate
}

// Why a hot pipe is not read as one any more, though more may come.
var (
	errWrongManner = errors.New("the command does not write in this manner") // it is better read otherwise than its speed let think
	errPause       = errors.New("the command pauses")
)
