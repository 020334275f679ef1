// Package configtest is the command test. It runs the tests that users write for their configuration.
//
// A test has given changes, and the expected contents of the sinks. [Load] parses a file of tests. [Run] runs each test
// with the code of production. It assembles the configuration over empty embedded stores, turns each change into a
// stream record and runs the pipeline. All sinks finish a change before the next one starts, so the result is always
// the same. Then outcome.actualContents reads the stores, and compare finds the differences. [File.Update] writes the
// actual contents into the file.
//
// Read test_file.go, case_step.go and expectation.go first (the parts of a file), then case_run.go and case_outcome.go.
// README.md describes the format of a file.
package configtest
