// Package export reads exports of DynamoDB tables to S3, as a [snapshot.Snapshot] whose parts are the data files.
//
// [Open] reads the manifests of a full export, and of incremental exports that continue it. Each of these exports is a
// layer. The files of a layer are in a bucket, or in a folder with a copy. AWS defines the format (Developer Guide,
// "DynamoDB table export output format").
//
// No damage is silent. The manifests are compared with their checksums, and each data file with the MD5 and the number
// of items in the manifest. A reader returns io.EOF only for a complete file.
//
// Read export.go first, then export_manifest.go, find_export.go and data_file_reader.go. disk_store.go and
// bucket_store.go open files. export_request.go requests an export and waits for it.
package export
