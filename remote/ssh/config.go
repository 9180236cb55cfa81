package ssh

// The user's configuration of OpenSSH: which servers to connect to, on the way to a host, and how to log in to each.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"
)

// maxHops bounds the servers on the way to a host. A host that is reached through itself would have no end.
const maxHops = 8

// configuration holds parsed files. The first value of a keyword counts, except for those with several values.
type configuration []*ssh_config.Config

// readConfig reads the files of the Transport.
func (t *Transport) readConfig() (configuration, error) {
	files := t.Config
	if files == nil {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil
		}
		files = []string{filepath.Join(home, ".ssh", "config")}
	}
	var c configuration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if t.Config == nil && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		parsed, err := ssh_config.DecodeBytes(bytes.TrimPrefix(text, []byte("\ufeff")))
		if err == nil {
			err = checkMatches(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w (a remote.Command that runs ssh understands all of it)", file, err)
		}
		c = append(c, parsed)
	}
	return c, nil
}

// keywordLine matches a line whose keyword decides about the lines after it.
var keywordLine = regexp.MustCompile(`(?im)^[ \t]*(match|include)[ \t]*[= \t][ \t]*([^#\r\n]*)`)

// checkMatches refuses Match host: the parser compares the alias, but OpenSSH the HostName. The parser itself refuses
// all others but Match all, and Includes without an end.
func checkMatches(text []byte) error {
	for _, line := range keywordLine.FindAllSubmatch(text, -1) {
		words := strings.Fields(string(line[2]))
		if strings.EqualFold(string(line[1]), "match") {
			if len(words) != 1 || !strings.EqualFold(words[0], "all") {
				return fmt.Errorf("keyword Match %s is not supported", strings.Join(words, " "))
			}
			continue
		}
		for _, pattern := range words {
			if err := checkIncluded(pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkIncluded checks the files of an Include, as the parser finds them.
func checkIncluded(pattern string) error {
	if !filepath.IsAbs(pattern) {
		current, err := user.Current()
		if err != nil {
			return err
		}
		rest, inHome := strings.CutPrefix(pattern, "~/")
		if pattern = filepath.Join(current.HomeDir, rest); !inHome {
			pattern = filepath.Join(current.HomeDir, ".ssh", rest)
		}
	}
	files, err := filepath.Glob(pattern)
	for _, file := range files {
		var text []byte
		if text, err = os.ReadFile(file); err == nil {
			err = checkMatches(text)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// all returns the values of a keyword for a host, in order.
func (c configuration) all(host, keyword string) (values []string, err error) {
	for _, file := range c {
		found, err := file.GetAll(host, keyword)
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	for _, value := range values {
		if strings.Contains(value, `"`) { // the parser removes quotes around a whole value
			return nil, fmt.Errorf("the value of %s has quotes inside: %s", keyword, value)
		}
	}
	return values, nil
}

// first returns the first value of a keyword for a host, or an empty string.
func (c configuration) first(host, keyword string) (string, error) {
	values, err := c.all(host, keyword)
	if err != nil || len(values) == 0 {
		return "", err
	}
	return values[0], nil
}

// place is a destination: [user@]host[:port].
type place struct{ user, host, port string }

// parsePlace parses Transport.Host, or a part of ProxyJump.
func parsePlace(text string) place {
	var p place
	text = strings.TrimSuffix(strings.TrimPrefix(text, "ssh://"), "/")
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		p.user, text = text[:i], text[i+1:]
	}
	if host, port, err := net.SplitHostPort(text); err == nil {
		p.host, p.port = host, port
	} else {
		p.host = strings.Trim(text, "[]")
	}
	return p
}

// hop is a server to connect to.
type hop struct {
	address    string // host:port
	network    string // tcp, tcp4 or tcp6
	user       string
	keyName    string   // the address that known hosts files have
	knownHosts []string // nil for the default file
	optional   bool     // files of knownHosts need not exist
	identities []string // nil for the default files
	only       bool     // no other keys of the agent are offered
	agent      string
	timeout    time.Duration // or 0
	jump       string        // ProxyJump
}

// name identifies the server in errors.
func (h *hop) name() string { return h.user + "@" + h.address }

// route returns the servers on the way to a destination, which is the last.
func (t *Transport) route(c configuration, to place) ([]*hop, error) {
	last, err := t.hop(c, to)
	if err != nil {
		return nil, err
	}
	before, err := t.jumps(c, last, 1)
	return append(before, last), err
}

// jumps returns the servers to connect to before one. The first one of ProxyJump may have a ProxyJump itself.
func (t *Transport) jumps(c configuration, to *hop, depth int) (hops []*hop, err error) {
	if to.jump == "" || to.jump == "none" {
		return nil, nil
	}
	for i, part := range strings.Split(to.jump, ",") {
		h, err := t.hop(c, parsePlace(strings.TrimSpace(part)))
		if err != nil {
			return nil, fmt.Errorf("ProxyJump %s: %w", part, err)
		}
		if depth+i >= maxHops {
			return nil, fmt.Errorf("ProxyJump leads through more than %d servers", maxHops)
		}
		if i == 0 {
			if hops, err = t.jumps(c, h, depth+1); err != nil {
				return nil, err
			}
		}
		hops = append(hops, h)
	}
	return hops, nil
}

// harmless maps keywords that this package does not support, but must not ignore, to the value that does nothing.
func harmless() map[string]string {
	return map[string]string{
		"ProxyCommand": "none", "KnownHostsCommand": "none", "RevokedHostKeys": "none", "CanonicalizeHostname": "no",
		"BindAddress": "", "BindInterface": "",
	}
}

// hop returns the settings for one server. The fields of the Transport come first, except that Host and User are only
// about the destination.
func (t *Transport) hop(c configuration, to place) (*hop, error) {
	if to.host == "" {
		return nil, errors.New("there is no host")
	}
	values := make(map[string]string)
	for _, keyword := range []string{
		"HostName", "Port", "User", "ProxyJump", "AddressFamily", "HostKeyAlias", "UserKnownHostsFile",
		"GlobalKnownHostsFile", "StrictHostKeyChecking", "IdentitiesOnly", "IdentityAgent", "ConnectTimeout",
	} {
		value, err := c.first(to.host, keyword)
		if err != nil {
			return nil, err
		}
		values[keyword] = value
	}
	for keyword, value := range harmless() {
		set, err := c.first(to.host, keyword)
		if err == nil && set != "" && !strings.EqualFold(set, value) {
			err = fmt.Errorf("%s is not supported (a remote.Command that runs ssh supports it)", keyword)
		}
		if err != nil {
			return nil, err
		}
	}
	h := &hop{jump: values["ProxyJump"]}
	x := expander{host: to.host, name: to.host}
	host, err := x.expand(cmp.Or(values["HostName"], to.host))
	if err != nil {
		return nil, fmt.Errorf("HostName %w", err)
	}
	port := cmp.Or(to.port, values["Port"], "22")
	h.address = net.JoinHostPort(host, port)
	if h.user = cmp.Or(to.user, values["User"]); h.user == "" {
		if h.user, err = currentUser(); err != nil {
			return nil, err
		}
	}
	x.host, x.port, x.user = host, port, h.user
	return h, t.fill(h, c, values, x)
}

// fill sets the rest of a hop, whose host, port and user are known.
func (t *Transport) fill(h *hop, c configuration, values map[string]string, x expander) (err error) {
	if h.jump, err = x.expand(h.jump); err != nil {
		return fmt.Errorf("ProxyJump %w", err)
	}
	networks := map[string]string{"": "tcp", "any": "tcp", "inet": "tcp4", "inet6": "tcp6"}
	if h.network = networks[strings.ToLower(values["AddressFamily"])]; h.network == "" {
		return fmt.Errorf("AddressFamily is not any, inet or inet6: %s", values["AddressFamily"])
	}
	if timeout := values["ConnectTimeout"]; timeout != "" && timeout != "none" {
		seconds, err := strconv.ParseUint(timeout, 10, 31)
		if err != nil {
			return fmt.Errorf("ConnectTimeout is not a number of seconds: %s", timeout)
		}
		h.timeout = time.Duration(seconds) * time.Second
	}
	h.keyName = h.address
	if alias := values["HostKeyAlias"]; alias != "" {
		h.keyName = net.JoinHostPort(alias, "22")
	}
	if err := t.fillKnownHosts(h, values, x); err != nil {
		return err
	}
	return t.fillKeys(h, c, values, x)
}

// fillKnownHosts sets the files. Unknown keys are refused whatever StrictHostKeyChecking says.
func (t *Transport) fillKnownHosts(h *hop, values map[string]string, x expander) error {
	switch strict := strings.ToLower(values["StrictHostKeyChecking"]); strict {
	case "", "yes", "ask", "accept-new", "no", "off", "true", "false":
	default:
		return fmt.Errorf("StrictHostKeyChecking has an unknown value: %s", strict)
	}
	user, global := values["UserKnownHostsFile"], values["GlobalKnownHostsFile"]
	switch {
	case len(t.KnownHosts) > 0:
		h.knownHosts = t.KnownHosts
		return nil
	case user == "" && global == "":
		return nil
	case user == "":
		user = "~/.ssh/known_hosts"
	}
	h.knownHosts, h.optional = []string{}, true
	for _, file := range strings.Fields(user + " " + global) {
		path, err := x.expand(file)
		if err != nil {
			return fmt.Errorf("a known hosts file %w", err)
		}
		if path != "none" {
			h.knownHosts = append(h.knownHosts, path)
		}
	}
	return nil
}

// fillKeys sets the keys to offer.
func (t *Transport) fillKeys(h *hop, c configuration, values map[string]string, x expander) error {
	h.agent = t.Agent
	if len(t.Identities) > 0 {
		h.identities, h.only = t.Identities, true
	} else {
		files, err := c.all(x.name, "IdentityFile")
		if err != nil {
			return err
		}
		for _, file := range files {
			path, err := x.expand(file)
			if err != nil {
				return fmt.Errorf("IdentityFile %w", err)
			}
			if h.identities == nil {
				h.identities = []string{}
			}
			if path != "none" {
				h.identities = append(h.identities, path)
			}
		}
		switch only := strings.ToLower(values["IdentitiesOnly"]); only {
		case "yes", "true":
			h.only = true
		case "", "no", "false":
		default:
			return fmt.Errorf("IdentitiesOnly is not yes or no: %s", only)
		}
	}
	if set := values["IdentityAgent"]; h.agent == "" && set != "" && set != "SSH_AUTH_SOCK" {
		if name, ok := strings.CutPrefix(set, "$"); ok && !strings.HasPrefix(name, "{") {
			h.agent = cmp.Or(os.Getenv(name), "none")
			return nil
		}
		var err error
		if h.agent, err = x.expand(set); err != nil {
			return fmt.Errorf("IdentityAgent %w", err)
		}
	}
	return nil
}

// expander replaces the tokens in values.
type expander struct{ name, host, port, user string }

// expand replaces "~/" at the beginning, variables in the form ${NAME}, and tokens in the form %h.
func (x expander) expand(value string) (string, error) {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if err != nil {
			return "", err
		}
		value = strings.ReplaceAll(home, "%", "%%") + "/" + rest
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '$' && strings.HasPrefix(value[i+1:], "{"):
			name, _, closed := strings.Cut(value[i+2:], "}")
			set, ok := os.LookupEnv(name)
			if !closed || !ok {
				return "", fmt.Errorf("has a variable that is not set: %s", value)
			}
			b.WriteString(set)
			i += len("{}") + len(name)
		case c == '%':
			i++
			if i == len(value) {
				return "", fmt.Errorf("ends with %%: %s", value)
			}
			local, err := currentUser()
			text, ok := map[byte]string{
				'%': "%", 'd': home, 'h': x.host, 'n': x.name, 'p': x.port, 'r': x.user, 'u': local,
			}[value[i]]
			if !ok || err != nil {
				return "", fmt.Errorf("has a token that is not supported, %%%c: %s", value[i], value)
			}
			b.WriteString(text)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
