package mcpserver

// otherUser is for tests of Unix sockets.
func otherUser(string, []string) {}
