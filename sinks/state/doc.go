// Package state is the place of what a sink must remember about a source item
// when the rows or documents it writes cannot guard themselves.
//
// A row that several items may claim is guarded at its item: which version wrote
// last, and which rows it has. An aggregate keeps what each item contributed, so
// that a change counts by its difference to that and never by its old image. A
// key whose change was dead-lettered is marked, so that what follows waits behind
// it; gaps of the stream and the settings that shaped a sink's output are on record.
//
// All of it has one promise: state and the rows it speaks of change in one
// transaction, on condition of the version that was read, so that a repeated or
// late delivery never counts twice.
//
// Nothing here is needed by views whose rows guard themselves, by search or by
// the archive, and the configuration refuses what would need it with the word "state".
package state
