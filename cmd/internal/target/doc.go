// Package target opens what commands work on: the embedded stores of a --local folder, or with --live the real
// stores that a configuration names.
package target
