// Package validate is the command validate. It checks a configuration, its names against some items of the table, and
// with --live the account.
//
// Read validate.go first, then account.go, which runs the checks of --live and notes their results. The checks are in
// source.go (the source table), stores.go (sinks, state, leases and dead letters) and rights.go.
package validate
