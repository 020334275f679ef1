package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/audit"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("audit")

// Lookup reads items of the source table by their keys.
type Lookup interface {
	// Read returns one Item for each of keys, in the same order. It makes consistent reads, and blocks.
	Read(ctx context.Context, keys []item.Key) ([]Item, error)
}

// Item is the result of reading one key of the source table.
type Item struct {
	audit.ItemState
	Err error // not nil if the item cannot be decoded; then its entries are unknown
}

// sameAs reports whether the item is the same as at an earlier read, which returned before. It returns false if the
// item cannot be decoded.
func (i *Item) sameAs(before *record.Change) bool {
	return i.Err == nil && bytes.Equal(i.Change.New.AppendDynamoDBJSON(nil), before.New.AppendDynamoDBJSON(nil))
}

// Options configure an audit.
type Options struct {
	Header        Header // without Run and Begun
	RequestDigest string // digest of the request; an interrupted audit continues only if the digest is the same
	Report        string // path of the report; the work folder is beside it
	Sinks         []audit.Sink
	// Items is a snapshot of the table. If it is nil, the audit compares only the places that Suspects adds.
	Items         snapshot.Snapshot
	Suspects      func(add func(sink int, f Suspect)) error // calls add for each place; sink is its index in Sinks
	ItemCondition pipeline.Condition                        // selects items. Default: all items
	Lookup        Lookup                                    // required
	Segments      int                                       // segments in which each sink is read. Default: 16
	Sample        *Sample                                   // segments to audit. Default: everything
	// Parts is the number of parts of the table, or of segments of sinks, that are read concurrently. Default: 4.
	Parts int
	// MaxRounds is the number of rounds after the first. If a place still changes in the last round, its verdict is
	// Busy. Default: 10.
	MaxRounds int
	// ItemsSelected means that the caller selected items, by key or otherwise. If no item matches, the summary sets
	// NothingSelected.
	ItemsSelected      bool
	AlreadyUndecodable int64                     // number of items that the caller could not decode
	NoWriters          bool                      // no other process writes, so one comparison is enough
	WaitForStream      func(ctx context.Context) // blocks while consumers lag too far. Default: never
	// Budget limits the rate at which sinks are read. Default: no limit.
	Budget *Budget
	// WaitForConsumers blocks until every consumer has read and written all changes up to since. It is required unless
	// NoWriters is set.
	WaitForConsumers func(ctx context.Context, since time.Time) error
	OnUndecodable    func(e *record.RecordError) // called with each item that cannot be decoded
	// Deadline is the time at which the audit of a sample ends, complete or not. Even an incomplete audit cannot be
	// continued after its deadline. Default: none.
	Deadline   time.Time
	Checkpoint time.Duration // time between two checkpoints. Default: 5 s
	Progress   Progress      // default: none
}

// The defaults of [Options].
const (
	DefaultSegments   = 16
	DefaultParts      = 4
	DefaultRounds     = 10
	DefaultCheckpoint = 5 * time.Second
)

func (o *Options) setDefaults() {
	o.Segments = cmp.Or(o.Segments, DefaultSegments)
	o.Parts = cmp.Or(o.Parts, DefaultParts)
	o.MaxRounds = cmp.Or(o.MaxRounds, DefaultRounds)
	o.Checkpoint = cmp.Or(o.Checkpoint, DefaultCheckpoint)
	if o.WaitForStream == nil {
		o.WaitForStream = func(context.Context) {}
	}
	if o.Budget == nil {
		o.Budget = NewBudget(0)
	}
	if o.OnUndecodable == nil {
		o.OnUndecodable = func(*record.RecordError) {}
	}
	if o.Progress == nil {
		o.Progress = noProgress{io.Discard}
	}
}

// Progress shows the progress of an audit.
type Progress interface {
	io.Writer                 // receives lines of text
	Update(done, total int64) // total is 0 if it is unknown
}

// noProgress shows nothing.
type noProgress struct{ io.Writer }

func (noProgress) Update(int64, int64) {}

// sharedProgress is a Progress that several goroutines may use. Each goroutine that reads may write that it was slowed
// down.
type sharedProgress struct {
	mu       sync.Mutex
	progress Progress
}

func (p *sharedProgress) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress.Write(lines)
}

func (p *sharedProgress) Update(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.Update(done, total)
}

// Suspect is an item, or a place of a sink, to compare.
type Suspect struct {
	Item  item.Key
	Kind  audit.Kind // "" if Place is ""
	Place string
}

// auditRun is one run of an audit.
type auditRun struct {
	o              Options
	work           *work
	report         *report
	progress       Progress
	startPositions map[string]part // positions from which this process reads the parts of the table
	started        time.Time
	lastSave       time.Time        // time at which the progress was last stored
	storedCount    int64            // stored entries of sinks that this process read
	recheckedCount int64            // suspects that this process compared again
	changing       int64            // suspects that were compared, and are not settled yet
	timedOut       bool             // the deadline ended the audit
	reportedGroups map[placeID]bool // groups that named items count in, and that were reported
}

// Audit makes an audit, or continues an interrupted audit, and saves its report.
func Audit(ctx context.Context, o Options) (_ *Summary, err error) {
	o.setDefaults()
	w, resumed, err := openWork(ctx, o.Report+".work", newWorkState(&o))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()

	a := &auditRun{o: o, work: w, progress: &sharedProgress{progress: o.Progress}, startPositions: maps.Clone(w.Parts),
		started: time.Now(), reportedGroups: make(map[placeID]bool)}
	o.Budget.setOnSlowed(func(rate float64) {
		fmt.Fprintf(a.progress, "throttled: slowed to %.0f read units a second\n", rate)
	})
	defer o.Budget.setOnSlowed(nil)
	if resumed {
		fmt.Fprintf(a.progress, "continuing the audit %s, begun %s\n", w.Header.Run, w.Header.Begun.Format(time.RFC3339))
	}
	if w.Header.Sample != nil {
		a.o.Sample = w.Header.Sample // the segments that the first process chose
	}
	return a.writeReport(ctx)
}

// writeReport executes the remaining phases, and writes the report.
func (a *auditRun) writeReport(ctx context.Context) (_ *Summary, err error) {
	if a.report, err = openReport(a.o.Report, a.work.Report); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.report.close()) }()
	if isNew := a.work.Report == 0; isNew {
		if err := a.beginReport(); err != nil {
			return nil, err
		}
	}
	if err := a.runInTime(ctx); err != nil {
		return nil, err
	}
	sum := a.summary()
	if err := errors.Join(a.report.add(line{Summary: sum}), a.report.flush()); err != nil {
		return nil, err
	}
	a.work.Phase = finished
	return sum, nil
}

// newWorkState returns the progress of an audit that begins now.
func newWorkState(o *Options) workState {
	now := time.Now().UTC()
	w := workState{
		Request: o.RequestDigest, Header: o.Header, Phase: readItems, Parts: map[string]part{}, Read: map[string]int{},
		Tally: newTally(len(o.Sinks)),
	}
	w.Header.Format, w.Header.Run, w.Header.Begun = reportFormat, now.Format("20060102-150405"), now.Truncate(time.Second)
	w.Tally.Undecodable = o.AlreadyUndecodable
	return w
}

// beginReport writes the header of the report, and stores the progress.
func (a *auditRun) beginReport() error {
	if err := a.report.add(line{Header: &a.work.Header}); err != nil {
		return err
	}
	return a.saveProgress()
}

// saveProgress stores the progress with the length of the report.
func (a *auditRun) saveProgress() error {
	if err := a.report.flush(); err != nil {
		return err
	}
	a.work.Report, a.lastSave = a.report.length, time.Now()
	return a.work.save()
}

// runInTime calls run, and ends it at Options.Deadline. The deadline is not an error: it sets timedOut.
func (a *auditRun) runInTime(ctx context.Context) error {
	if !a.o.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, a.o.Deadline, errTimeOver)
		defer cancel()
	}
	err := a.run(ctx)
	isTimeOver := errors.Is(err, errTimeOver) || errors.Is(context.Cause(ctx), errTimeOver)
	if err != nil && isTimeOver {
		a.timedOut = true
		return nil
	}
	return err
}

// run executes the remaining phases.
func (a *auditRun) run(ctx context.Context) error {
	if a.work.Phase.findsSuspects() {
		if err := a.findSuspects(ctx); err != nil {
			return err
		}
	}
	if a.work.Phase == recheck {
		if err := a.recheckSuspects(ctx); err != nil {
			return err
		}
	}
	return a.recheckGroups(ctx)
}

// findSuspects compares the required entries with the stored entries.
func (a *auditRun) findSuspects(ctx context.Context) error {
	entries, err := openSpool(a.work.path("entries"), a.work.Entries)
	if err != nil {
		return err
	}
	for a.work.Phase.findsSuspects() {
		if err := a.runPhase(ctx, entries); err != nil {
			return errors.Join(err, entries.close())
		}
	}
	a.work.Entries = nil
	return entries.remove()
}

// runPhase executes the present phase, which must come before the recheck, and begins the next one.
func (a *auditRun) runPhase(ctx context.Context, entries *spool) (err error) {
	isGivenSuspects := a.o.Items == nil // then no stored entries are read
	next := a.work.Phase
	switch a.work.Phase {
	case readItems:
		next = readSinks
		if isGivenSuspects {
			err = a.spoolSuspects(entries)
		} else {
			err = a.spoolItems(ctx, entries)
		}
	case readSinks:
		next = compare
		if !isGivenSuspects {
			err = a.spoolStored(ctx, entries)
		}
	case compare:
		next = recheck
		err = a.compareAll(ctx, entries)
	}
	if err != nil {
		return err
	}
	a.work.Phase = next
	return a.checkpoint(entries, &a.work.Entries)
}

// compareAll joins the required with the stored entries, file by file. If the join is interrupted, the next process
// starts it again.
func (a *auditRun) compareAll(ctx context.Context, entries *spool) error {
	suspects, err := openSpool(a.work.path("round-0"), nil)
	if err != nil {
		return err
	}
	defer func() { _ = suspects.close() }()
	for i := range a.work.Tally.Sinks {
		a.work.Tally.Sinks[i].Compared = 0
	}
	a.work.Tally.Suspects = 0
	j := newJoiner(a, suspects)
	for file := range spoolFiles {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := j.join(entries, file, 0); err != nil {
			return err
		}
	}
	a.work.Open, err = suspects.flush()
	return err
}

// spoolSuspects spools the suspects that Options.Suspects adds. The recheck compares them, without a join of all
// entries.
func (a *auditRun) spoolSuspects(entries *spool) error {
	var spoolErr error
	var encoded []byte
	err := a.o.Suspects(func(sink int, s Suspect) {
		if spoolErr != nil {
			return
		}
		e := spooledEntry{Entry: audit.Entry{Kind: s.Kind, Place: s.Place, Item: s.Item}, sink: sink, unjoined: true}
		encoded = e.appendTo(encoded[:0])
		spoolErr = entries.add(e.hash(), encoded)
	})
	return errors.Join(err, spoolErr)
}

// planPage decodes a page of items, and plans the entries of each item.
func (a *auditRun) planPage(page *pipeline.Page) (spooledPage, error) {
	decoded, err := page.Decoded()
	if err != nil {
		return spooledPage{}, err
	}
	entryCount := len(decoded.Changes) * len(a.o.Sinks) // an estimate
	planned := spooledPage{tally: newTally(len(a.o.Sinks)), encodedEntries: make([]byte, 0, entryCount*usualEntryBytes),
		entries: make([]encodedEntry, 0, entryCount), undecodable: decoded.Errors}
	planned.tally.Undecodable = int64(len(decoded.Errors))
	for i := range decoded.Changes {
		if c := &decoded.Changes[i]; a.includesItem(c) {
			a.planItem(c, &planned)
		}
	}
	return planned, nil
}

// planItem adds the entries that an item requires.
func (a *auditRun) planItem(c *record.Change, planned *spooledPage) {
	planned.tally.Items++
	for n, sink := range a.o.Sinks {
		err := sink.ExpectedEntries(c, func(e audit.Entry) {
			planned.tally.Sinks[n].Expected++
			planned.add(&spooledEntry{Entry: e, sink: n, unjoined: a.o.Sample != nil})
		})
		if err != nil { // the recheck reports that the item cannot be planned
			planned.add(&spooledEntry{Entry: audit.Entry{Item: c.Key}, sink: n, unjoined: true})
		}
	}
}

// totalItems returns the number of items to read; 0 if it is unknown.
func (a *auditRun) totalItems() int64 {
	n := max(a.o.Items.Info().Items, 0)
	if a.o.Sample != nil {
		n = n * int64(len(a.o.Sample.Segments)) / int64(a.o.Sample.Of)
	}
	return n
}

// itemParts returns the parts of the table to read.
func (a *auditRun) itemParts() []snapshot.Part {
	all := a.o.Items.Parts()
	if a.o.Sample == nil {
		return all
	}
	var chosen []snapshot.Part
	for _, i := range a.o.Sample.Segments {
		chosen = append(chosen, all[i])
	}
	return chosen
}
