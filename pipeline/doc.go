// Package pipeline turns the records of a DynamoDB stream into typed changes
// and carries each change, in order per item, to every sink that wants it.
//
// A [Change] owns its bytes: its images are ranges of one immutable page, so
// reading an attribute costs no allocation and a change may be kept for as long
// as its page may be. Filters drop changes with a counted reason, detectors
// raise events, and sinks write; [Pipeline] runs them all and keeps two ledgers
// that always balance.
//
// The package imports the standard library and the OpenTelemetry API, nothing
// else: sources, stores and codecs live in the packages around it.
package pipeline
