package server

// ServeWithGrace is Serve with the time from the SIGTERM to the SIGKILL.
var ServeWithGrace = serve
