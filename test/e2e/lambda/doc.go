// Package lambda holds the tests of the built function, in Amazon's emulator, on real
// servers: each event is judged by the bytes of the answer and by what the stores hold.
// test/esm stands for the event source mapping.
package lambda
