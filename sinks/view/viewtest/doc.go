// Package viewtest is the conformance suite of view stores: what a store must
// hold to so that views on it keep the promise of package view.
//
// [Run] checks the store by itself, write by write, and then runs the suite of
// sinks ([sinktest.Run]) on several views over it: with keys of each type, moving
// rows, sparse rows, rows that never move, and every attribute type in a row.
package viewtest
