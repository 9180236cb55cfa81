package ssh

// Host keys, checked against known hosts files.

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// A HostKeyError is returned when a server is rejected because its key is unknown, has changed or has been revoked.
type HostKeyError struct {
	// Host is the server's name as it appears in known hosts files: "host", or "[host]:port" for ports other than 22.
	Host string
	// KeyType and Fingerprint identify the key presented by the server, for example "ssh-ed25519" and "SHA256:…".
	KeyType, Fingerprint string
	// Files lists the known hosts files that have been searched.
	Files []string
	// Known lists the lines that contain other keys for the server, if any, in the form "file:line".
	Known []string
	// Err is the underlying error. It is either a *knownhosts.KeyError or a *knownhosts.RevokedError (see
	// golang.org/x/crypto/ssh/knownhosts), or an error that describes a problem with the server's certificate.
	Err error
}

// Error returns a message that includes the server's key and the location of any known keys.
func (e *HostKeyError) Error() string {
	key := fmt.Sprintf("%s %s", e.KeyType, e.Fingerprint)
	files := strings.Join(e.Files, ", ")
	var revoked *knownhosts.RevokedError
	var other *knownhosts.KeyError
	switch {
	case errors.As(e.Err, &revoked):
		at := revoked.Revoked
		return fmt.Sprintf("the host key of %s, %s, is revoked by %s:%d", e.Host, key, at.Filename, at.Line)
	case len(e.Known) > 0:
		return fmt.Sprintf("the host key of %s has changed, or another host answers: it is %s, another one is in %s",
			e.Host, key, strings.Join(e.Known, ", "))
	case errors.As(e.Err, &other):
		return fmt.Sprintf("the host key of %s is not known: %s is not in %s", e.Host, key, files)
	default:
		return fmt.Sprintf("the host key of %s, %s, is refused by %s: %v", e.Host, key, files, e.Err)
	}
}

// Unwrap returns Err.
func (e *HostKeyError) Unwrap() error { return e.Err }

// knownHosts contains the keys of known hosts files.
type knownHosts struct {
	files  []string
	lookUp ssh.HostKeyCallback
}

// readKnownHosts reads the files, or the default file if files is empty.
func readKnownHosts(files []string) (*knownHosts, error) {
	exist := files
	if len(files) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		files = []string{filepath.Join(home, ".ssh", "known_hosts")}
		if _, err := os.Stat(files[0]); err == nil || !errors.Is(err, os.ErrNotExist) {
			exist = files
		}
	}
	lookUp, err := knownhosts.New(exist...)
	if err != nil {
		return nil, err
	}
	return &knownHosts{files, lookUp}, nil
}

// check is an ssh.HostKeyCallback.
func (k *knownHosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	err := k.lookUp(address, remote, key)
	if err == nil {
		return nil
	}
	refusal := &HostKeyError{
		Host:        knownhosts.Normalize(address),
		KeyType:     key.Type(),
		Fingerprint: ssh.FingerprintSHA256(key),
		Files:       k.files,
		Err:         err,
	}
	for _, known := range others(err) {
		refusal.Known = append(refusal.Known, fmt.Sprintf("%s:%d", known.Filename, known.Line))
	}
	return refusal
}

// algorithms returns the algorithms for the server's key, those of known keys first. A server with keys of several
// types presents the first supported one, so it presents a known key if it has one. The other algorithms remain, so
// that the error for a server without a known key type describes its key.
func (k *knownHosts) algorithms(address string) []string {
	noKey, err := ssh.NewPublicKey(make(ed25519.PublicKey, ed25519.PublicKeySize))
	if err != nil {
		return nil // the defaults
	}
	var known, rest []string
	keys := others(k.lookUp(address, new(net.TCPAddr), noKey))
	for _, algorithm := range ssh.SupportedAlgorithms().HostKeys {
		isKnown := slices.ContainsFunc(keys, func(key knownhosts.KnownKey) bool {
			return key.Key.Type() == keyType(algorithm)
		})
		if isKnown {
			known = append(known, algorithm)
		} else {
			rest = append(rest, algorithm)
		}
	}
	return append(known, rest...)
}

// others returns the known keys of a host, from the error that another key is not one of them.
func others(err error) []knownhosts.KnownKey {
	var other *knownhosts.KeyError
	if errors.As(err, &other) {
		return other.Want
	}
	return nil
}

// keyType returns the key type of an algorithm.
func keyType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algorithm
}
