package signin

// CapabilityV2 is the value of capabilities.auth in the initialize request of ACP v2, for clients that support Run. It
// is encoded as {"terminal":{}}. For v1, use acpterm.AuthCapabilities instead.
type CapabilityV2 struct {
	Terminal struct{} `json:"terminal"`
}
