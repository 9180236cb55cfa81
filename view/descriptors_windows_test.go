package view_test

// limitDescriptors does nothing, because Windows does not have such a limit.
func limitDescriptors() {}
