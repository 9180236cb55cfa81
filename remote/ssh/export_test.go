package ssh

// Settings are those for a host, in the form of ssh -G.
func (t *Transport) Settings() (map[string][]string, error) {
	config, err := t.readConfig()
	if err != nil {
		return nil, err
	}
	h, err := t.hop(config, parsePlace(t.Host))
	if err != nil {
		return nil, err
	}
	to := parsePlace(h.address)
	return map[string][]string{
		"hostname": {to.host}, "port": {to.port}, "user": {h.user}, "identityfile": h.identities,
		"userknownhostsfile": h.knownHosts, "proxyjump": {h.jump},
	}, nil
}
