package main

// The live pages of all running servers of the user, as files in the directory of this program, and the command open.

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// livePage is the page of a running server. Its addresses are secrets: with them, one can stop commands.
type livePage struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	Shared  string    `json:"shared,omitempty"` // the address of the page with all sessions
	Root    string    `json:"root"`
	Started time.Time `json:"started"`
}

// link returns the address for the user.
func (p livePage) link() string {
	if p.Shared != "" {
		return p.Shared
	}
	return p.URL
}

// pageList is the directory with a file for each page.
type pageList string

// pages returns the list, or an error if commands may write to it.
func (opts *options) pages() (pageList, error) {
	dir, err := opts.ownDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "pages")
	return pageList(dir), os.MkdirAll(dir, 0o700)
}

// add adds a page. remove takes it from the list again.
func (l pageList) add(p livePage) (remove func(), err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(string(l), rand.Text()+".json")
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, os.Rename(path+".tmp", path)
}

// all returns the pages, oldest first. It removes those whose server no longer listens, because it was killed.
func (l pageList) all() (pages []livePage) {
	paths, _ := filepath.Glob(filepath.Join(string(l), "*.json")) // the pattern is valid
	for _, path := range paths {
		var p livePage
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &p) != nil {
			continue
		}
		if !listens(p.URL) {
			os.Remove(path)
			continue
		}
		pages = append(pages, p)
	}
	slices.SortFunc(pages, func(a, b livePage) int { return a.Started.Compare(b.Started) })
	return pages
}

// listens reports whether something listens at an address.
func listens(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// token returns the secret part of the shared page's path, which stays the same.
func (l pageList) token() (string, error) {
	path := filepath.Join(string(l), "token")
	for range 2 {
		text, err := os.ReadFile(path)
		if err == nil && len(text) >= 16 {
			return string(text), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		// Of several servers that start at once, the first one creates the file, as a whole.
		own := filepath.Join(string(l), rand.Text()+".tmp")
		if err := os.WriteFile(own, []byte(rand.Text()), 0o600); err != nil {
			return "", err
		}
		err = os.Link(own, path)
		if errors.Is(err, errors.ErrUnsupported) {
			err = os.Rename(own, path)
		}
		os.Remove(own)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s has no token: remove it", path)
}

// openPage opens the page of the server for the current directory, or else of the newest one.
func openPage(arguments []string, out io.Writer) error {
	if len(arguments) > 0 {
		return fmt.Errorf("%w: open has no arguments: it opens the page of -view", errUsage)
	}
	opts := new(options) // without roots: no command runs
	list, err := opts.pages()
	if err != nil {
		return err
	}
	pages := list.all()
	if len(pages) == 0 {
		return errors.New("no server with -view is running")
	}
	chosen := pages[len(pages)-1]
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, p := range pages {
		if root, err := os.Stat(p.Root); err == nil {
			if inside, err := isInside(here, root); err == nil && inside {
				chosen = p
			}
		}
	}
	fmt.Fprintln(out, chosen.link())
	name, args := "xdg-open", []string{chosen.link()}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", append([]string{"url.dll,FileProtocolHandler"}, args...)
	}
	if text, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("open the address above in a browser: %s: %w %s", name, err, strings.TrimSpace(string(text)))
	}
	return nil
}
