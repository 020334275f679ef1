// Package page tests the status page (cmd/internal/page) in Chromium: in each of its states, in three widths, light and
// dark. axe-core finds no problem, nothing is cut off, and the page is live, can be paused, and works with a keyboard.
// The package is a module of its own, because the driver of the browser is large.
//
//	go -C test/page test .
//
// The environment variable TABLEWAKE_TEST_PICTURES names a folder for pictures of the page.
package page
