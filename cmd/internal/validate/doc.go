// Package validate is the command validate. It checks a configuration. With --sample or --table it also checks the
// names of attributes against some items of the table, and with --live the configuration against the account.
//
// Read validate.go first, then account_check.go, which runs the checks of --live and notes their results. The checks
// are in source_table_check.go (the source table), store_check.go (sinks, state, leases and dead letters) and
// rights_check.go (the rights of the caller).
package validate
