// Package page looks at the status page (cmd/internal/page) in Chromium: in each of its states, in three widths, light and
// dark. axe-core finds nothing that keeps people from using it, nothing is cut off, and it is live, can be paused, and works
// with a keyboard. It is a module of its own, as the driver of the browser is large.
//
//	go -C test/page test .
//
// The environment variable TABLEWAKE_TEST_PICTURES names a folder for pictures of all of that.
package page
