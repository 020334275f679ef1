package policy

import (
	"cmp"
	"slices"

	"github.com/tablewake/tablewake/pipeline/config"
)

// allowSource adds the rights to read the streams, and to share their shards.
func (w *writer) allowSource() {
	if w.options.Runner == Backfill {
		w.allowSnapshots()
		return
	}
	src := w.cfg.Source
	if src.Kinesis != "" {
		w.allow("SourceStream", "the event source mapping reads the Kinesis stream with this role", kinesisActions,
			src.Kinesis)
		return
	}
	why := "the event source mapping reads the stream with this role"
	if w.options.Runner == Consumer {
		why = "the consumer reads the stream"
	}
	w.allowStreams(why)
	if w.consumes() {
		w.allow("Leases", "consumers share the shards", leaseActions, w.table(w.cfg.Leases.Table))
	}
}

// allowStreams adds the rights to find and read the streams of the source tables.
func (w *writer) allowStreams(why string) {
	var streams []string
	for _, t := range w.cfg.Source.Tables {
		streams = append(streams, cmp.Or(t.StreamARN, w.arn("dynamodb", "table/"+w.name(t.Name)+"/stream/*")))
	}
	w.allow("SourceStream", why, streamActions, streams...)
	if w.options.Runner == Function || w.looksUpStreams() {
		w.allowListStreams()
	}
}

// looksUpStreams reports whether the file names a source table without its stream.
func (w *writer) looksUpStreams() bool {
	return slices.ContainsFunc(w.cfg.Source.Tables, func(t config.Table) bool { return t.StreamARN == "" })
}

func (w *writer) allowListStreams() {
	w.allow("SourceStreams", "streams are found by ListStreams, which takes no resource", []string{"dynamodb:ListStreams"},
		"*")
}

// allowTail adds the rights to read the streams, and to find out which tables are global.
func (w *writer) allowTail() {
	w.allowStreams("tail reads the stream")
	w.allow("SourceTable", "a global table is refused without --force", []string{"dynamodb:DescribeTable"},
		w.sourceTables()...)
}

// exportBucket is the placeholder for the bucket of exports, which the configuration does not name.
const exportBucket = "EXPORT-BUCKET"

// allowSnapshots adds the rights to read the contents of the source tables, and to find out how far the stream is read.
func (w *writer) allowSnapshots() {
	tables := w.sourceTables()
	if len(tables) == 0 {
		return
	}
	var exports []string
	for _, table := range tables {
		exports = append(exports, table+"/export/*")
	}
	w.allow("SourceTable", "the key is looked up, and --scan reads the items", scanTableActions, tables...)
	if w.cfg.Source.Kinesis == "" && w.looksUpStreams() {
		w.allowListStreams()
	}
	w.allow("Export", "--start-export requests an export", exportActions, tables...)
	w.allow("ExportStatus", "it waits for the export", exportStatusActions, exports...)
	w.allow("ExportObjects", "DynamoDB writes the export with these rights, and --export reads it", exportObjectActions,
		w.bucket(exportBucket, "/*"))
	w.allow("ExportBucket", "the export is found by its prefix", []string{"s3:ListBucket"}, w.bucket(exportBucket, ""))
	switch l := w.cfg.Leases; {
	case l == nil:
		w.allow("Function", "--function sees when a function was changed", functionActions, w.arn("lambda", "function:*"))
		w.allow("Mappings", "--function sees the event source mappings of a stream, which takes no resource", mappingActions,
			"*")
	case l.Table.Name != "":
		w.allow("Leases", "it sees how far consumers are, and which sinks they have", readLeaseActions, w.table(l.Table))
	}
}
