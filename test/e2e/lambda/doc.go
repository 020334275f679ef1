// Package lambda holds the tests of the built function, in Amazon's emulator, on real servers: each event is judged by
// the bytes of the answer and by the contents of the stores. test/esm replaces the event source mapping.
package lambda
