// Package records opens saved records for the commands that read them. The records are in files, folders, standard
// input or archives in S3.
//
// replay reads with [Open] and wraps the source in a [Reporting]. explain and cost read decoded pages with
// [Input.Pages]. [OpenExport] opens an export of the table, and [SelectionFlags] selects some of its items.
package records
