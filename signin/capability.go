package signin

// CapabilityV2 is the value of capabilities.auth in ACP v2's initialize request for clients that support Run. It is
// encoded as {"terminal":{}}. With v1, use acpterm.HandlerOptions.TerminalAuth instead.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
