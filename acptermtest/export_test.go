package acptermtest

// NewManagerWithin is NewManager with a time limit for each check.
var NewManagerWithin = newManager
