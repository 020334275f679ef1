// Package target opens the stores of a command. With --local they are embedded stores in a folder. With --live they are
// the real stores that a configuration names.
//
// A command embeds [Flags] and calls [Flags.Add], [Flags.LoadConfig], [Flags.Open] and [Flags.Assemble]. Read
// store_target_flags.go first, then folder_owner.go and live_account.go.
package target
