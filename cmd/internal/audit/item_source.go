package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// openSource opens the items of the table, and selects the items and places to compare.
func (j *job) openSource(ctx context.Context, o *run.Options, paths []string) error {
	var err error
	if j.live {
		err = j.openTable(ctx, o)
	} else {
		err = j.openRecords(ctx, o, paths)
	}
	if err != nil {
		return err
	}
	o.Header.Source = o.Items.Info().Source
	source := o.Header.Source
	if j.o.Live && j.o.export == "" {
		source = "the table" // a scan's name has its start time, and an audit that continues starts another scan
	}
	if err := j.selectSuspects(o); err != nil {
		return err
	}
	o.RequestDigest, err = run.RequestDigest(source, j.cfg.Name, o.Header.Stream, j.o.Local, j.o.export, j.o.tableKeys,
		sinks.RoutesDigest(j.cfg), o.Header.Sinks, j.o.again, j.o.keys, j.o.selection.Types, j.o.selection.KeyPrefix,
		j.o.selection.Filter, j.o.sample, j.o.segments)
	return err
}

// openTable opens a scan or an export of the table. Single items are read from the table.
func (j *job) openTable(ctx context.Context, o *run.Options) error {
	table, err := run.OpenTable(ctx, j.aws, j.cfg, j.o.Decoder(j.cfg), j.budget)
	if err != nil {
		return err
	}
	o.Header.Stream, o.Lookup = table.Decoder.StreamARN, table.Lookup
	selection, err := j.o.selection.Build(j.cfg, table.Keys[0])
	if err != nil {
		return err
	}
	if err := j.selectItems(o, selection); err != nil {
		return err
	}
	if j.o.export == "" {
		o.Items, err = table.Scan(ctx, j.o.segments, j.o.rcu, selection,
			records.RetryPrinter(j.streams.Err, "a request of the scan"))
		return err
	}
	if o.Items, err = j.openExport(ctx, j.o.export, table.Decoder, fullExport); err != nil {
		return err
	}
	tableARN := o.Items.Info().TableARN
	if tableARN != "" && tableARN != table.ARN {
		return cli.Usagef("the export is of the table %s, and %s reads %s", tableARN, j.cfg.File, table.ARN)
	}
	return nil
}

// selectItems makes the audit include only the items of a selection; nil selects all. An item for which --filter fails
// is included, and a warning tells that at the end.
func (j *job) selectItems(o *run.Options, selection *snapshot.ItemSelection) error {
	if selection == nil {
		return nil
	}
	m, err := sinks.Mask(j.cfg)
	if err != nil {
		return err
	}
	wide := records.NewWideSelection(selection, m)
	j.OnClose(func() error {
		wide.Warn(j.streams.Err, "what it failed for was compared, too")
		return nil
	})
	o.ItemCondition = wide
	return nil
}

// exportKind is a kind of export. Opening an export of another kind than expected is an error.
type exportKind int

const (
	fullExport exportKind = iota
	incrementalExport
)

// openExport opens an export: a folder, or s3://BUCKET/PREFIX.
func (j *job) openExport(
	ctx context.Context, path string, decoder record.SnapshotOptions, kind exportKind,
) (snapshot.Snapshot, error) {
	o := export.Options{Layers: []string{path}, ChangesOnly: kind == incrementalExport, Decoder: decoder}
	return records.OpenExport(ctx, j.aws, o, j.streams.Err)
}

// openRecords reads the last state of each item in saved records, archives and the export of --export.
func (j *job) openRecords(ctx context.Context, o *run.Options, paths []string) error {
	dir, err := os.MkdirTemp("", "tablewake-audit-")
	if err != nil {
		return err
	}
	j.OnClose(func() error { return os.RemoveAll(dir) })
	if j.o.selection.KeyPrefix != "" && len(j.o.tableKeys) == 0 {
		return cli.Usagef("--key-prefix needs --keys PK,SK, the key attributes of the table: a --local folder asks no table")
	}
	selection, err := j.o.selection.Build(j.cfg, cmp.Or(j.o.tableKeys...))
	if err != nil {
		return err
	}
	if err := j.selectItems(o, selection); err != nil {
		return err
	}
	names := slices.Clone(paths)
	if j.o.export != "" {
		names = append(names, j.o.export)
	}
	items, err := openLatest(ctx, filepath.Join(dir, "items.db"), strings.Join(names, ", "), j.o.Decoder(j.cfg),
		func(l *latestItems) error { return j.readRecords(ctx, paths, l) })
	if err != nil {
		return err
	}
	j.OnClose(items.Close)
	o.Items, o.Lookup = items, items
	return nil
}

// readRecords adds the items of the export of --export to l, and then the saved records in paths.
func (j *job) readRecords(ctx context.Context, paths []string, l *latestItems) error {
	do := func(page *record.Page) error { return l.add(ctx, page) }
	if j.o.export != "" {
		if err := j.readExport(ctx, len(paths) > 0, do); err != nil {
			return err
		}
		l.hasSnapshot = true
	}
	if len(paths) == 0 {
		return nil
	}
	births, err := j.birthsOfSource(ctx, paths)
	if err != nil {
		return err
	}
	if err := records.CheckArchives(&j.o.Flags, j.cfg, births, paths); err != nil {
		return err
	}
	source := j.o.Source(j.cfg, j.streams, paths)
	source.Complete = true // a file without records may be a damaged one
	src, err := records.Open(ctx, source, records.Period{}, j.streams.Err)
	if err != nil {
		return err
	}
	addOfSource := func(page *record.Page) error {
		if err := records.CheckTables(page, j.cfg.Source.Tables); err != nil {
			return err
		}
		if err := j.o.CheckItemKeys(records.KeyNames(page)); err != nil {
			return err
		}
		return do(page)
	}
	err = errors.Join(j.readPages(ctx, src, addOfSource), src.Close())
	if errors.Is(err, replay.ErrExport) {
		return cli.Usagef("%w: name the folder of the export with --export, and its items are compared, too", err)
	}
	return err
}

// birthsOfSource returns the births by which [records.CheckArchives] judges an archive that is the only source. Beside
// an export or other records an archive may miss changes, which they have.
func (j *job) birthsOfSource(ctx context.Context, paths []string) ([]state.Birth, error) {
	store, err := j.stores.State(ctx, j.cfg)
	isOnlySource := len(paths) == 1 && j.o.export == ""
	if err != nil || store == nil || !isOnlySource {
		return nil, err
	}
	return stream.Collect(store.Births(ctx))
}

// readExport calls do with the decoded pages of the export of --export. hasRecords means that saved records come after
// the export.
func (j *job) readExport(ctx context.Context, hasRecords bool, do func(*record.Page) error) error {
	if len(j.o.tableKeys) == 0 {
		return cli.Usagef(
			"name the key attributes of the table with --keys PK,SK: a --local folder asks no table, and an export does not name them")
	}
	if err := j.o.CheckItemKeys(j.o.tableKeys); err != nil {
		return err
	}
	decoder := run.SnapshotOptions(j.cfg, j.o.Decoder(j.cfg), j.o.tableKeys)
	snap, err := j.openExport(ctx, j.o.export, decoder, fullExport)
	if err != nil {
		return err
	}
	if err := j.checkExportTime(ctx, snap.Info().Time, hasRecords); err != nil {
		return err
	}
	for _, part := range snap.Parts() {
		r, err := snap.Open(ctx, part.ID, "")
		if err != nil {
			return err
		}
		if err := errors.Join(j.readPages(ctx, r, do), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// checkExportTime returns a usage error if a sink was filled with items that may be newer than those of an export. An
// audit would take the newer items for differences. at is the time of the export's items; zero if unknown. If saved
// records come after the export, they may have all changes since then, and checkExportTime only warns.
func (j *job) checkExportTime(ctx context.Context, at time.Time, hasRecords bool) error {
	store, err := j.stores.State(ctx, j.cfg)
	if err != nil || store == nil || at.IsZero() {
		return err
	}
	for _, s := range j.sinks {
		filledAsOf, err := j.filledAsOf(ctx, store, s.Name())
		if err != nil {
			return err
		}
		if mayBeNewer := at.Before(filledAsOf); !mayBeNewer {
			continue
		}
		text := fmt.Sprintf("the export %s has the items as of %s, and a backfill has filled the sink %s with items as of %s "+
			"or later", j.o.export, at.UTC().Format(time.RFC3339), s.Name(), filledAsOf.UTC().Format(time.RFC3339))
		if !hasRecords {
			return cli.Usagef("%s: name an export that was made after that, or also the records with all changes since the export",
				text)
		}
		fmt.Fprintf(j.streams.Err, cli.Warning+"%s: the records must have all changes since the export\n", text)
	}
	return nil
}

// filledAsOf returns the time as of which a backfill may have brought items to a sink, or a later one. It returns zero
// if there is none, or if it is unknown.
func (j *job) filledAsOf(ctx context.Context, store state.Store, sink string) (time.Time, error) {
	spec, _ := j.cfg.Sink(sink)
	birth, _, err := state.FindBirth(ctx, store, sink, sinks.Target(spec))
	if err != nil {
		return time.Time{}, err
	}
	return sinks.FilledAsOf(ctx, store, birth)
}

// readPages calls do with the decoded pages of r. If reading r fails, do still gets the records before the error.
func (j *job) readPages(ctx context.Context, r pipeline.Source, do func(*record.Page) error) error {
	for page, err := range pipeline.DecodedPages(ctx, r) {
		for _, e := range page.Errors {
			j.logUndecodable(e)
			j.lostRecords++
		}
		if err := cmp.Or(do(page), err); err != nil {
			return err
		}
	}
	return nil
}

// maxNamed is the maximum number of undecodable items that are named. The summary counts all of them.
const maxNamed = 10

// logUndecodable names an item that cannot be decoded. It names up to maxNamed items.
func (j *job) logUndecodable(e *record.RecordError) {
	j.named++
	switch {
	case j.named <= maxNamed:
		fmt.Fprintln(j.streams.Err, cli.Warning+"not compared: "+records.ErrorText(e))
	case j.named == maxNamed+1:
		fmt.Fprintln(j.streams.Err, cli.Warning+"more items cannot be decoded; they are counted, and not named")
	}
}

// selectSuspects limits the audit to the items of --key, or to the places in the report of --again. A place is where a
// sink keeps one entry, such as a row or a document.
func (j *job) selectSuspects(o *run.Options) error {
	switch {
	case len(j.o.keys) > 0:
		return j.selectKeys(o)
	case j.o.again != "" && sameFile(j.o.again, j.o.report):
		return cli.Usagef("--again %s is what --report would write: name another --report", j.o.again)
	case j.o.again != "":
		return j.selectAgain(o)
	}
	return nil
}

func (j *job) selectKeys(o *run.Options) error {
	var keys []item.Key
	for _, text := range j.o.keys {
		k, err := itemkey.Parse(text, j.cfg, "")
		if err != nil {
			return err
		}
		keys = append(keys, k.Canonical)
	}
	o.Items, o.Suspects = nil, func(add func(sink int, s run.Suspect)) error {
		for sink := range j.sinks {
			for _, k := range keys {
				add(sink, run.Suspect{Item: k})
			}
		}
		return nil
	}
	return nil
}

func (j *job) selectAgain(o *run.Options) error {
	var withoutSink int64 // findings of sinks that the file does not have any more
	header, runSummary, err := run.ReadReport(j.o.again, func(name string, f *audit.Finding) error {
		if j.sinkIndex(name) < 0 && len(j.o.sinks) == 0 {
			withoutSink++
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.Header.Open = withoutSink + run.OpenAfter(header, runSummary, j.o.sinks)
	o.Items, o.Suspects = nil, j.suspectsOf(j.o.again)
	return nil
}

// sinkIndex returns the index of an audited sink, or -1 if no audited sink has that name.
func (j *job) sinkIndex(name string) int {
	return slices.IndexFunc(j.sinks, func(s audit.Sink) bool { return s.Name() == name })
}

// suspectsOf returns a function that adds the places of the audited sinks in a report.
func (j *job) suspectsOf(report string) func(add func(sink int, s run.Suspect)) error {
	return func(add func(sink int, s run.Suspect)) error { return j.addSuspects(report, add) }
}

// addSuspects adds the places of the audited sinks in a report.
func (j *job) addSuspects(report string, add func(sink int, s run.Suspect)) error {
	header, runSummary, err := run.ReadReport(report, func(name string, f *audit.Finding) error {
		namesEntry := f.Item != "" || f.Place != ""
		if i := j.sinkIndex(name); i >= 0 && namesEntry {
			add(i, run.Suspect{Item: f.Item, Kind: f.Kind, Place: f.Place})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if header.Pipeline != j.cfg.Name {
		return cli.Usagef("%s is of the pipeline %s, and %s is of %s", report, header.Pipeline, j.cfg.File, j.cfg.Name)
	}
	if runSummary == nil {
		fmt.Fprintf(j.streams.Err, cli.Warning+"the audit of %s did not end: there may be more differences\n", report)
	}
	return nil
}

// sameFile reports whether two paths name one existing file.
func sameFile(a, b string) bool {
	infoA, err := os.Stat(a)
	infoB, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(infoA, infoB)
}
