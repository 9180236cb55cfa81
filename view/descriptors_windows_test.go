package view_test

// limitDescriptors does nothing: Windows has no such limit.
func limitDescriptors() {}
