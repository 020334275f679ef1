// Package query is the command query, which shows the contents of a --local folder, and of real dead letters.
//
// Each kind (view, search, archive, events, dead) is a subcommand in a file of its own. query without a kind lists the
// stores of the folder (overview.go). Read query.go first.
package query
