// Package audit tests audits and repairs. It injects differences of every kind into the stores of a filled pipeline,
// only through the interfaces of the stores, and runs the built program. An audit must find each difference with its
// place, its verdict and its version, and nothing else. After a repair, the contents must be what follows from the
// items, a second audit must find nothing, and later changes must be written as usual.
//
// items_test.go has the table and its records. kinds_test.go has the kinds of differences. model_test.go has the
// contents that must result. embedded_test.go and servers_test.go inject the differences.
package audit
