package agentterm

// A record of released terminals.

import "hash/maphash"

// maxReleased is the number of released terminals to remember.
const maxReleased = 4096

// released remembers the last released terminals, so that a late update does not create them again. The zero
// value is ready.
type released struct {
	seed  maphash.Seed
	known map[uint64]bool // by hash, since ids may be long
	order []uint64        // a ring buffer; once full, the oldest is at next
	next  int
}

func (r *released) add(k key) {
	if r.known == nil {
		r.known, r.seed = make(map[uint64]bool), maphash.MakeSeed()
	}
	hash := maphash.Comparable(r.seed, k)
	if len(r.order) < maxReleased {
		r.order = append(r.order, hash)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = hash
		r.next = (r.next + 1) % maxReleased
	}
	r.known[hash] = true
}

func (r *released) has(k key) bool {
	return r.known != nil && r.known[maphash.Comparable(r.seed, k)]
}
