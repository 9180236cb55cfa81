package ssh

// Host keys, checked against known hosts files.

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	skeema "github.com/skeema/knownhosts"
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

// knownHosts contains the keys of known hosts files. Unlike x/crypto alone, skeema/knownhosts tells the authorities that
// certify keys from keys, and lets a pattern without a port match a host at any port, as OpenSSH does.
type knownHosts struct {
	files []string
	keys  *skeema.HostKeyDB
}

// readKnownHosts reads the files for a server.
func readKnownHosts(h *hop) (*knownHosts, error) {
	files := h.knownHosts
	if files == nil {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		files = []string{filepath.Join(home, ".ssh", "known_hosts")}
	}
	exist := files
	if h.knownHosts == nil || h.optional {
		exist = slices.DeleteFunc(slices.Clone(files), func(file string) bool {
			_, err := os.Stat(file)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
	keys, err := skeema.NewDB(exist...)
	if err != nil {
		return nil, err
	}
	return &knownHosts{files, keys}, nil
}

// check is an ssh.HostKeyCallback.
func (k *knownHosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	err := k.keys.HostKeyCallback()(address, remote, key)
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
// types presents the first supported one, so it presents a known key, or a certificate of a known authority, if it has
// one. The other algorithms remain, so that the error for a server without a known key type describes its key.
func (k *knownHosts) algorithms(address string) []string {
	of := k.keys.HostKeyAlgorithms(address) // also insecure ones
	var known, rest []string
	for _, algorithm := range ssh.SupportedAlgorithms().HostKeys { // certificates come first
		if slices.Contains(of, algorithm) {
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
