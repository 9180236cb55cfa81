package server

// ServeWithGrace is Serve with the time between SIGTERM and SIGKILL.
var ServeWithGrace = serve
