package acptermtest

// NewManagerWithin is NewManager with how long each check waits until nothing is left.
var NewManagerWithin = newManager
