// Package backfill is the command backfill: it fills sinks with what a table holds already, while the stream runs.
//
// The order of calls is: options.run; selectSinks (selection.go) finds the sinks and their run; options.begin (begin.go)
// stores the stage, the floor and the run, so that every process writes the changes of after the floor;
// options.openSource (source.go) opens the export, the scan, the items or the saved records; options.fill (fill.go) runs a
// pipeline of these sinks over it; options.settle (settle.go) waits until every shard is read past the last read of the
// source.
package backfill
