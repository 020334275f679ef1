// Package target opens the stores of a command: with --local the embedded stores in a folder, with --live the real
// stores of a configuration.
//
// A command embeds [Flags] and calls [Flags.Add], [Flags.Load], [Flags.Open] and [Flags.Assemble]. Read target.go
// first, then folder_owner.go and live_stores.go.
package target
