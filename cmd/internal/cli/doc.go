// Package cli has the parts that all commands share: standard streams, flags, exit codes, output formats, the log,
// progress bars and profiles.
//
// [Run] parses a command line, runs its command and returns the exit code. It wraps both output streams: standard
// output in a printableWriter, and standard error in a logWriter. Read root_command.go first, then exit_codes.go and
// output_format.go.
package cli
