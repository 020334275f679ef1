// Package cli has what all commands share: standard streams, the flags -c and -o and those of the log, exit
// codes, the forms of output, progress and the profile of a run.
package cli
