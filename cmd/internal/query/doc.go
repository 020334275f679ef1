// Package query is the command query. It shows the contents of a --local folder, or of the real stores.
//
// Each kind (view, search, archive, events, dead) is a subcommand: view_query.go, search_query.go,
// local_archive_events.go (archive and events) and dead_letters.go. query without a kind lists the stores of the folder
// (local_folder_overview.go). With --live the same subcommands read the real stores (live_stores.go). Read query.go
// first.
package query
