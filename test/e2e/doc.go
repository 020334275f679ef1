// Package e2e holds the tests that need real servers. They take the endpoints from
// the environment, where test/servers puts them:
//
//	go run ./test/servers -- go test ./test/e2e/...
package e2e
