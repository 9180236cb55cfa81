package signin

// CapabilityV2 is the member capabilities.auth of ACP v2's initialize for a client that can Run methods: its JSON is
// {"terminal":{}}. On v1 acpterm.HandlerOptions.TerminalAuth is for that.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
