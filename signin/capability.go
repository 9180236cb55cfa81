package signin

// CapabilityV2 is the member capabilities.auth of ACP v2's initialize for a client that can Run methods. Its JSON is
// {"terminal":{}}. On v1, use acpterm.HandlerOptions.TerminalAuth.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
