// Package sqlite keeps, in one SQLite file, what a pipeline must remember: guards,
// contributions, quarantine marks, gaps, births and fingerprints, and lends the file to the
// stores whose rows change in one transaction with that.
//
// A [DB] is one file, open. It has one connection that writes ([DB.Write], whose
// callers take turns) and others that read. What a call reports as done survives
// a killed process and a power failure: a transaction is synced before it returns.
// Several processes may have one file open.
//
// The file's layout has a number. A file of another layout is refused, with the command that
// fills it again where it is older. A witness beside the file tells it from an older copy
// ([Options.Witness]).
package sqlite
