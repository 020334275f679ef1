// Package records opens saved records, of files, folders, standard input and archives in S3, for the commands
// that read them.
package records
