// Package sinks makes a running pipeline of a configuration.
//
// [Assemble] builds the sinks of a [config.Config] over the stores that a [Stores] opens. It adds
// the Go sinks, filters and detectors that the file names, and connects filters, detectors, routes and dead
// letters. The result is an ordinary [pipeline.Pipeline]. A Lambda function, a consumer and a
// replay run the same pipeline, so they behave alike.
//
// Start reading at assemble.go, which calls routes.go for each sink; routes.go opens stores with
// fingerprint.go, which checks an output against the state with output_births.go.
package sinks
