package signin

// CapabilityV2 is capabilities.auth in ACP v2's initialize request, for a client that supports Run. It is encoded as
// {"terminal":{}}. On v1, use acpterm.HandlerOptions.TerminalAuth instead.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
