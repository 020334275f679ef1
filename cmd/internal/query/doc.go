// Package query is the command query. It shows the contents of a --local folder, or of the real stores.
//
// Each kind (view, search, archive, events, dead) is a subcommand: view.go, search.go, local_files.go (archive and
// events) and dead_letters.go. query without a kind lists the stores of the folder (overview.go). With --live the same
// subcommands read the real stores (live_stores.go). Read query.go first.
package query
