// Package statetest is the conformance suite of stores of state: what a store must
// hold to so that quarantine marks, gaps and fingerprints do what package
// state promises. Guards and contributions change together with rows: package
// viewtest checks them.
package statetest
