package health

// Serve is Start on a listener that exists.
var Serve = serve
