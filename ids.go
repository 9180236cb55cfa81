package acpterm

// Terminal ids: "term_" and a ULID. The ULID's random part is a sequence number and a code that only
// this manager can compute, over the session and the rest. The number keeps ids apart whatever the clock
// and the source of randomness do. The code tells an id that the session once had from one that it never
// had, so that a second release can be answered without remembering every id for ever.

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

	// A ULID is 6 bytes of time, then 10 of entropy: here 4 of sequence number and 6 of code.
	idSequenceAt = 6
	idCodeAt     = 10
)

// idMint makes the ids of one manager. All its methods may be called concurrently.
type idMint struct {
	key      []byte
	macs     sync.Pool // of hash.Hash
	now      func() time.Time
	sequence atomic.Uint32
}

func newIDMint() *idMint {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails
	m := &idMint{key: key, now: time.Now}
	m.macs.New = func() any { return hmac.New(sha256.New, m.key) }
	return m
}

// next makes an id for a session, unlike any that this mint made before.
func (m *idMint) next(session SessionID) TerminalID {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(m.now())) // fails for times after the year 10889
	binary.BigEndian.PutUint32(id[idSequenceAt:], m.sequence.Add(1))
	copy(id[idCodeAt:], m.code(session, id))
	return TerminalID(idPrefix + id.String())
}

// issued reports whether this mint made the id for that session.
func (m *idMint) issued(session SessionID, id TerminalID) bool {
	text, found := strings.CutPrefix(string(id), idPrefix)
	parsed, err := ulid.ParseStrict(text)
	return found && err == nil && parsed.String() == text &&
		hmac.Equal(parsed[idCodeAt:], m.code(session, parsed))
}

// code is what ends an id of that session which begins as id does.
func (m *idMint) code(session SessionID, id ulid.ULID) []byte {
	mac := m.macs.Get().(hash.Hash)
	defer m.macs.Put(mac)
	mac.Reset()
	mac.Write(id[:idCodeAt])
	mac.Write([]byte(session))
	return mac.Sum(nil)[:len(id)-idCodeAt]
}
