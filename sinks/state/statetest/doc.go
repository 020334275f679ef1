// Package statetest is the conformance suite for implementations of [state.Store]: quarantine marks,
// gaps, births, backfills, fingerprints and notes of consumers that are held back. [Run] runs all checks. Guards
// and contributions change together with rows: package viewtest checks them.
package statetest
