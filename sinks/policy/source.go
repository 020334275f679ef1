package policy

import "cmp"

// source adds the rights to read the streams, and to share their shards.
func (w *writer) source() {
	if w.o.Runner == Backfill {
		w.snapshots()
		return
	}
	src := w.cfg.Source
	if src.Kinesis != "" {
		w.allow("SourceStream", "the event source mapping reads the Kinesis stream with this role", kinesisActions,
			src.Kinesis)
		return
	}
	why := "the event source mapping reads the stream with this role"
	if w.o.Runner == Consumer {
		why = "the consumer reads the stream"
	}
	w.streams(why)
	if w.consumes() {
		w.allow("Leases", "consumers share the shards", leaseActions, w.table(w.cfg.Leases.Table))
	}
}

// streams adds the rights to find and read the streams of the source tables.
func (w *writer) streams(why string) {
	var streams []string
	named := true
	for _, t := range w.cfg.Source.Tables {
		streams = append(streams, cmp.Or(t.StreamARN, w.arn("dynamodb", "table/"+w.name(t.Name)+"/stream/*")))
		named = named && t.StreamARN != ""
	}
	w.allow("SourceStream", why, streamActions, streams...)
	if w.o.Runner == Function || !named {
		w.allow("SourceStreams", "streams are found by ListStreams, which takes no resource",
			[]string{"dynamodb:ListStreams"}, "*")
	}
}

// addStreams adds the rights to read the streams, and to find out which tables are global.
func (w *writer) addStreams() {
	w.streams("tail reads the stream")
	w.allow("SourceTable", "a global table is refused without --force", []string{"dynamodb:DescribeTable"},
		w.sourceTables()...)
}

// snapshots adds the rights to read the contents of the source tables, and to find out how far the stream is read.
func (w *writer) snapshots() {
	var tables, exports []string
	named := true
	for _, t := range w.cfg.Source.Tables {
		tables = append(tables, w.table(t))
		exports = append(exports, w.table(t)+"/export/*")
		named = named && t.StreamARN != ""
	}
	if len(tables) == 0 {
		return
	}
	w.allow("SourceTable", "the key is looked up, and --scan reads the items", scanTableActions, tables...)
	if !named && w.cfg.Source.Kinesis == "" {
		w.allow("SourceStreams", "streams are found by ListStreams, which takes no resource",
			[]string{"dynamodb:ListStreams"}, "*")
	}
	bucket := cmp.Or(w.o.ExportBucket, "EXPORT-BUCKET")
	w.allow("Export", "--start-export requests an export", exportActions, tables...)
	w.allow("ExportStatus", "it waits for the export", exportStatusActions, exports...)
	w.allow("ExportObjects", "DynamoDB writes the export with these rights, and --export reads it", exportObjectActions,
		w.bucket(bucket, "/*"))
	w.allow("ExportBucket", "the export is found by its prefix", []string{"s3:ListBucket"}, w.bucket(bucket, ""))
	switch l := w.cfg.Leases; {
	case l == nil:
		w.allow("Function", "--function sees when a function was changed", functionActions, w.arn("lambda", "function:*"))
		w.allow("Mappings", "--function sees the event source mappings of a stream, which takes no resource", mappingActions,
			"*")
	case l.Table.Name != "":
		w.allow("Leases", "it sees how far consumers are, and which sinks they have", readLeaseActions, w.table(l.Table))
	}
}
