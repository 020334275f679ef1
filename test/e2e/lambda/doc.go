// Package lambda tests the built function in Amazon's emulator, on real servers. The tests check the bytes of each
// answer and the contents of the stores. test/esm replaces the event source mapping.
package lambda
