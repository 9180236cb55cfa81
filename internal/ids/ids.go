// Package ids makes terminal ids: "term_" and a ULID. Instead of random bits the ULID has a sequence number, so that
// ids of a manager are unique regardless of the clock, and two message authentication codes, over the rest, and over
// the rest and the session. The codes distinguish former ids of the session, of others, and ids that never were, so
// that a second release can be answered without a list of all ids. The package imports the standard library and ulid.
package ids

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
)

const (
	idPrefix = "term_"

	// A ULID is 6 bytes of time and 10 bytes of entropy. Here these are 4 bytes of sequence number and two codes.
	idSequenceAt = 6
	idCodeAt     = 10
	idSessionAt  = 13
)

// Generator makes the ids of one manager. New returns one. Its methods are safe for concurrent use.
type Generator struct {
	key      []byte
	macs     sync.Pool // of hash.Hash
	now      func() time.Time
	sequence atomic.Uint32
}

// New returns a generator with a new random key.
func New() *Generator {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails
	g := &Generator{key: key, now: time.Now}
	g.macs.New = func() any { return hmac.New(sha256.New, g.key) }
	return g
}

// Next returns a new id for a session.
func (g *Generator) Next(session string) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(g.now())) // fails for times after the year 10889
	binary.BigEndian.PutUint32(id[idSequenceAt:], g.sequence.Add(1))
	copy(id[idCodeAt:], g.code(session, id))
	return idPrefix + id.String()
}

// Issued reports whether this generator made the id for that session.
func (g *Generator) Issued(session, id string) bool { return g.checks(session, id, len(ulid.ULID{})) }

// Made reports whether this generator made the id for any session.
func (g *Generator) Made(id string) bool { return g.checks("", id, idSessionAt) }

// checks reports whether the codes of an id before end are right.
func (g *Generator) checks(session, id string, end int) bool {
	text, found := strings.CutPrefix(id, idPrefix)
	parsed, err := ulid.ParseStrict(text)
	return found && err == nil && parsed.String() == text &&
		hmac.Equal(parsed[idCodeAt:end], g.code(session, parsed)[:end-idCodeAt])
}

// code returns the codes for an id of that session with this time and sequence number.
func (g *Generator) code(session string, id ulid.ULID) []byte {
	mac := g.macs.Get().(hash.Hash)
	defer g.macs.Put(mac)
	mac.Reset()
	mac.Write(id[:idCodeAt])
	code := mac.Sum(nil)[:idSessionAt-idCodeAt]
	mac.Write([]byte(session))
	return append(code, mac.Sum(nil)[:len(id)-idSessionAt]...)
}
