// Package configtest is the commands test and validate. It runs the tests that users write of their configuration.
//
// A test gives changes of items, and says what then stands in the sinks. It is run
// by what runs in production: the configuration is assembled over the embedded
// stores of a folder that is empty, each change is a stream record that is decoded,
// filtered, planned and written, and what stands in the stores is compared. A change
// is finished in every sink before the next one comes, so a test ends the same each time.
//
// README.md tells the form of a file.
package configtest
