package health

// Serve is Start on a listener.
var Serve = serve
