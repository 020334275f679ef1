// Package sinks turns a configuration into a pipeline that runs.
//
// [Assemble] builds every sink of a [config.Config] over the stores that a bundle
// ([Stores]; sinks/local for the embedded ones) opens for it, adds the Go sinks
// and detectors that the file names, and wires filters, detectors, routes and
// dead letters. What it returns is an ordinary [pipeline.Pipeline]: the same for a
// Lambda, a consumer and a replay, so that all three behave alike.
package sinks
