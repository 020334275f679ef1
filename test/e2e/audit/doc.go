// Package audit injects differences of every kind into the stores of a filled pipeline, by the interfaces of the stores alone,
// and runs the built program: an audit must find each of them with its place, its verdict and its version, and nothing else. After
// the repair the contents must be what the items say, a second audit must find nothing, and the stream must go on.
//
// items_test.go has the table and its records, kinds_test.go the kinds of differences, model_test.go what the contents
// should be. embedded_test.go and servers_test.go inject.
package audit
