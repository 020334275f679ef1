// Package e2e holds the tests that need real servers. The tests take the endpoints of the servers from environment
// variables, which test/servers sets:
//
//	go run ./test/servers -- go test ./test/e2e/...
package e2e
