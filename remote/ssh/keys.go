package ssh

// The user's keys, from an agent and from files.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keys holds the keys for the login of a connection.
type keys struct {
	signers []ssh.Signer
	agent   net.Conn    // or nil
	stop    func() bool // cancels closing agent when the context ends

	offered bool     // the server has presented a known key and asks for keys
	names   []string // names of the signers
	unused  []string // keys that cannot be offered, with the reasons
}

// loadKeys reads key files and asks the agent.
func (t *Transport) loadKeys(ctx context.Context, h *hop) (*keys, error) {
	k := new(keys)
	held := k.openAgent(ctx, h.agent)
	if !h.only {
		for _, signer := range held {
			k.add(signer, "agent")
		}
	}
	files, err := h.files()
	if err != nil {
		k.close()
		return nil, err
	}
	for _, file := range files {
		signer, err := t.readKey(ctx, file, held)
		switch {
		case err == nil:
			k.add(signer, file)
		case len(t.Identities) > 0 && !errors.As(err, new(*ssh.PassphraseMissingError)):
			k.close()
			return nil, err
		case h.identities != nil || !errors.Is(err, os.ErrNotExist):
			k.unused = append(k.unused, err.Error())
		}
	}
	return k, nil
}

// files returns the files of private keys.
func (h *hop) files() ([]string, error) {
	if h.identities != nil {
		return h.identities, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		files = append(files, filepath.Join(home, ".ssh", name))
	}
	return files, nil
}

// openAgent connects to the agent and returns its keys.
func (k *keys) openAgent(ctx context.Context, socket string) (held []ssh.Signer) {
	if socket == "" {
		socket = os.Getenv("SSH_AUTH_SOCK")
	}
	if socket == "" || socket == "none" {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		k.unused = append(k.unused, fmt.Sprintf("agent: %v", err))
		return nil
	}
	k.agent, k.stop = conn, closeWhenDone(ctx, conn)
	if held, err = agent.NewClient(conn).Signers(); err != nil {
		k.unused = append(k.unused, fmt.Sprintf("agent: %v", err))
	}
	return held
}

// close closes the connection to the agent.
func (k *keys) close() {
	if k.agent != nil {
		k.stop()
		_ = k.agent.Close()
	}
}

// add adds a key to offer, unless it was added before.
func (k *keys) add(signer ssh.Signer, from string) {
	if find(k.signers, signer.PublicKey()) == nil {
		k.signers = append(k.signers, signer)
		k.names = append(k.names, fmt.Sprintf("%s (%s)", ssh.FingerprintSHA256(signer.PublicKey()), from))
	}
}

// find returns the signer with the given key, or nil.
func find(signers []ssh.Signer, key ssh.PublicKey) ssh.Signer {
	i := slices.IndexFunc(signers, func(s ssh.Signer) bool {
		return bytes.Equal(s.PublicKey().Marshal(), key.Marshal())
	})
	if i < 0 {
		return nil
	}
	return signers[i]
}

// offer is called when the server asks for keys.
func (k *keys) offer() ([]ssh.Signer, error) {
	k.offered = true
	return k.signers, nil
}

// explain adds the offered keys to the error of a handshake.
func (k *keys) explain(err error) error {
	if !k.offered {
		return err
	}
	text := "no keys were offered"
	if len(k.names) > 0 {
		text = "these keys were offered: " + strings.Join(k.names, ", ")
	}
	if len(k.unused) > 0 {
		text += "; not offered: " + strings.Join(k.unused, ", ")
	}
	return fmt.Errorf("%w; %s", err, text)
}

// readKey reads a key file. If the key is encrypted and the agent holds it, the agent signs instead.
func (t *Transport) readKey(ctx context.Context, file string, held []ssh.Signer) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return signer, nil
	}
	err = fmt.Errorf("%s: %w", file, err)
	if public, _, _, _, publicErr := ssh.ParseAuthorizedKey(text); publicErr == nil {
		if signer := find(held, public); signer != nil {
			return signer, nil
		}
		return nil, fmt.Errorf("%s: the agent does not hold this key", file)
	}
	var missing *ssh.PassphraseMissingError
	if !errors.As(err, &missing) {
		return nil, err
	}
	if missing.PublicKey != nil {
		if signer := find(held, missing.PublicKey); signer != nil {
			return signer, nil
		}
	}
	if t.Passphrase == nil {
		return nil, err
	}
	decrypt := func() (ssh.Signer, error) {
		passphrase, err := t.Passphrase(ctx, file)
		if err != nil {
			return nil, fmt.Errorf("%s: the passphrase: %w", file, err)
		}
		signer, err := ssh.ParsePrivateKeyWithPassphrase(text, passphrase)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return signer, nil
	}
	if missing.PublicKey == nil { // an old file format
		return decrypt()
	}
	return &encryptedKey{missing.PublicKey, decrypt}, nil
}

// encryptedKey is an encrypted key. It is decrypted to sign, which happens once the server has accepted it.
type encryptedKey struct {
	public  ssh.PublicKey
	decrypt func() (ssh.Signer, error)
}

func (e *encryptedKey) PublicKey() ssh.PublicKey { return e.public }

func (e *encryptedKey) Sign(random io.Reader, data []byte) (*ssh.Signature, error) {
	return e.SignWithAlgorithm(random, data, e.public.Type())
}

// SignWithAlgorithm implements ssh.AlgorithmSigner: RSA keys have several algorithms.
func (e *encryptedKey) SignWithAlgorithm(random io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signer, err := e.decrypt()
	if err != nil {
		return nil, err
	}
	if signer, ok := signer.(ssh.AlgorithmSigner); ok {
		return signer.SignWithAlgorithm(random, data, algorithm)
	}
	return signer.Sign(random, data)
}
