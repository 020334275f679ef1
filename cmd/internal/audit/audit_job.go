package audit

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// JobOptions configure a [Job]. Numbers and times have the same bounds as the flags of `audit`.
type JobOptions struct {
	target.Flags
	Input          records.Input // --stream-arn, for Records
	Config         *config.Config
	Stores         *target.Stores
	Streams        cli.Streams // Err receives the progress; Extensions has the Go code of filters
	Sinks          []string    // names of the sinks. Default: all that keep state
	Records        []string    // saved records and archives to compare with. Default: the source table
	Export         string      // a full export to compare with, before Records; "": none
	Keys           []string    // names of the table's key attributes, for Export
	WritersRunning bool        // consumers or a function may write to the sinks meanwhile
	DryRun         bool        // repairs write nothing

	// OnOutcome is called after each finding that a repair looked at. Default: not called.
	OnOutcome func(sink string, f *audit.Finding, done audit.Outcome)

	Segments, Parts, Rounds int           // 0: the defaults of [run.Options]
	RCU                     float64       // 0: no limit
	MaxLag, Lag, ClockSkew  time.Duration // 0 is a value, not a default
	TrustLag                bool          // use Lag even if there are leases
}

// Job makes audits and repairs for other commands.
type Job struct {
	job
	table      *run.Table  // nil: the items are those of the records and the export
	records    run.Options // Items and Lookup of the records and the export
	onProgress func(done, total int64)
}

// NewJob opens the sinks, and describes the source table or reads the records. The caller closes the job, and then the
// stores.
func NewJob(ctx context.Context, o JobOptions) (*Job, error) {
	flags := &options{
		Input: o.Input, Flags: o.Flags, export: o.Export, tableKeys: o.Keys, sinks: o.Sinks, dryRun: o.DryRun,
		segments: o.Segments, parts: o.Parts, rounds: o.Rounds, rcu: o.RCU,
		maxLag: o.MaxLag, lag: o.Lag, trustLag: o.TrustLag, clockSkew: o.ClockSkew,
	}
	readsTable := len(o.Records) == 0 && o.Export == ""
	j := &Job{job: job{o: flags, streams: o.Streams, cfg: o.Config, stores: o.Stores, live: readsTable,
		running: o.WritersRunning, budget: run.NewBudget(o.RCU), onOutcome: o.OnOutcome}}
	var err error
	j.sinks, err = audit.Open(ctx, o.Config, o.Stores, audit.Options{
		Sinks: o.Sinks, CommandFlags: o.CommandLine(o.Config), DryRun: o.DryRun, Extensions: o.Streams.Extensions,
	})
	if err != nil {
		return nil, err
	}
	if j.live || target.IsS3(o.Export) {
		if j.aws, err = target.LoadAWS(ctx); err != nil {
			return nil, err
		}
	}
	if !j.live {
		if err := j.openRecords(ctx, &j.records, o.Records); err != nil {
			return nil, errors.Join(err, j.Close())
		}
		return j, nil
	}
	if j.table, err = run.OpenTable(ctx, j.aws, o.Config, j.o.Decoder(o.Config), j.budget); err != nil {
		return nil, err
	}
	return j, nil
}

// Sinks returns the audited sinks. The sink of a suspect is an index into them.
func (j *Job) Sinks() []audit.Sink { return j.sinks }

// Table describes the source table. It returns nil if the job compares with records.
func (j *Job) Table() *run.Table { return j.table }

// OnProgress makes later audits of the job call f with the progress of their current step. total is 0 if it is unknown.
func (j *Job) OnProgress(f func(done, total int64)) { j.onProgress = f }

// watchedProgress shows the progress of an audit, and passes it to onProgress.
type watchedProgress struct {
	run.Progress
	onProgress func(done, total int64)
}

// Update shows and passes the progress.
func (p watchedProgress) Update(done, total int64) {
	p.onProgress(done, total)
	p.Progress.Update(done, total)
}

// Audit makes an audit, and saves its report in a file. The function suspects calls add with each item or place to
// compare. A place is where a sink keeps one entry, such as a row or a document. If suspects is nil, Audit compares
// everything. If an audit with the same subject was interrupted, Audit continues it.
func (j *Job) Audit(
	ctx context.Context, report, subject string, suspects func(add func(sink int, s run.Suspect)) error,
) (*run.Summary, error) {
	o := j.auditOptions()
	o.Report = report
	if err := j.openItems(ctx, &o); err != nil {
		return nil, err
	}
	if !j.live {
		subject += o.Header.Source // an audit that was interrupted does not continue with other records
	}
	if suspects == nil {
		o.AlreadyUndecodable = j.lostRecords
	} else {
		o.Items, o.Suspects = nil, suspects
	}
	var err error
	if o.RequestDigest, err = run.RequestDigest(subject, j.cfg.Name, o.Header.Stream, sinks.RoutesDigest(j.cfg),
		o.Header.Sinks, j.o.segments); err != nil {
		return nil, err
	}
	progress := cli.NewCountProgress(j.streams.Err, "comparing")
	defer progress.End()
	o.Progress = progress
	if j.onProgress != nil {
		o.Progress = watchedProgress{progress, j.onProgress}
	}
	return run.Audit(ctx, o)
}

// openItems opens the items of the table or of the records.
func (j *Job) openItems(ctx context.Context, o *run.Options) (err error) {
	if j.live {
		err = j.openTable(ctx, o)
	} else {
		o.Items, o.Lookup = j.records.Items, j.records.Lookup
	}
	if err == nil {
		o.Header.Source = o.Items.Info().Source
	}
	return err
}

// ReportSuspects returns a function that adds each place in a report. If the caller passes that function to
// [Job.Audit], the audit compares these places again.
func (j *Job) ReportSuspects(report string) func(add func(sink int, s run.Suspect)) error {
	return j.suspectsOf(report)
}

// Repair repairs the findings of a report.
func (j *Job) Repair(ctx context.Context, report string) (*RepairSummary, error) {
	o := j.auditOptions()
	if err := j.openItems(ctx, &o); err != nil {
		return nil, err
	}
	return j.repairFindings(ctx, report, o.Lookup, o.Header)
}

// EachStored reads all entries that a sink has stored, and calls do with each.
func (j *Job) EachStored(ctx context.Context, sink int, do func(audit.Entry) error) error {
	return run.EachStored(ctx, j.auditOptions(), sink, do)
}

// OpenIncremental opens an incremental export of the table: a folder, or s3://BUCKET/PREFIX.
func (j *Job) OpenIncremental(ctx context.Context, path string) (snapshot.Snapshot, error) {
	return j.openExport(ctx, path, j.table.Decoder, incrementalExport)
}
