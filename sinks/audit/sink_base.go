package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/rowqueue"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// base holds the fields that all kinds of sinks share.
type base struct {
	cfg              *config.Config
	spec             config.Sink
	birth            string // birth of the sink's output, its recorded identity; "" if births are not recorded
	neverStarted     bool   // births are recorded, and the sink's output has none
	planner          planner
	mask             *mask.Mask
	heldKeys         *heldKeys
	dryRun           bool
	repairQueue      *rowqueue.Queue[state.Row] // rows that a repair is writing now
	groupConcurrency int                        // number of groups that RepairGroups repairs concurrently
	filters          sinks.Option               // option that installs the program's Go filters
}

// Name returns the name of the sink.
func (b *base) Name() string { return b.spec.Name }

// storeAs returns store as T. If store is not a T, it returns an error that names action, such as "list rows".
// The caller adds the name of the sink.
func storeAs[T any](store any, action string) (T, error) {
	t, ok := store.(T)
	if !ok {
		return t, errs.Errorf("the store of the sink (%T) cannot %s", store, redact.Safe(action))
	}
	return t, nil
}

// storedEntries yields the entries of stored values. appendEntries appends the entries of one value. An error of values
// or of appendEntries gets the prefix what, and ends the sequence.
func storedEntries[T any](
	what string, values iter.Seq2[T, error], appendEntries func(dst []Entry, v *T) ([]Entry, error),
) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var entries []Entry // the entries of one value
		for v, err := range values {
			if err == nil {
				entries, err = appendEntries(entries[:0], &v)
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("%s: %w", what, err))
				return
			}
			for i := range entries {
				if !yield(entries[i], nil) {
					return
				}
			}
		}
	}
}

// noEntries yields an error.
func noEntries(err error) iter.Seq2[Entry, error] { return seq.Of[Entry](nil, err) }

// foreignBirth describes the birth of a stored entry that was written to another output of the sink. It returns "" for
// an entry of this output.
func (b *base) foreignBirth(birth string) string {
	if birth == b.birth {
		return ""
	}
	return "birth " + birth
}

// targetOf returns the sink's description for the store of its rows.
func (b *base) targetOf(table config.Table, key []config.Column) view.Target {
	return view.Target{Table: sinks.RowTable(table.Name, key), View: b.spec.Name, Pipeline: b.cfg.Name, Birth: b.birth}
}

// opsOf returns the planned writes of an item. If the item has no place in the sink, it returns the writes of the
// item's removal.
func (b *base) opsOf(c *record.Change) ([]pipeline.Op, error) {
	if c.Removed() {
		return b.planner.removalOps(c), nil
	}
	ops, err := b.planner.ops(c)
	if err == nil && len(ops) == 0 {
		return b.planner.removalOps(c), nil
	}
	return ops, err
}

// isOwn reports whether a row or a tombstone belongs to this sink.
func (b *base) isOwn(st *view.StoredRow) bool {
	return st.View == b.spec.Name && st.Pipeline == b.cfg.Name
}

// itemText returns the key of the change's item for people, masked.
func (b *base) itemText(c *record.Change) string { return string(b.mask.Key(c)) }

// otherItemText returns key for people. The key belongs to another item than c. It is masked if the key of c has
// sensitive attributes, or if c is nil.
func (b *base) otherItemText(c *record.Change, key item.Key) string {
	if b.hidesKeys(c) {
		return b.mask.Text(string(key))
	}
	return string(key)
}

// hidesKeys reports whether the keys of items have sensitive attributes. If c is nil, it returns true if the sink has a
// mask.
func (b *base) hidesKeys(c *record.Change) bool {
	if c == nil {
		return b.mask != nil
	}
	_, hidden := b.mask.HiddenKey(c)
	return hidden
}

// rowText returns the key of an unplanned row for people. It is unknown which attributes of the item the key contains.
// So the whole key is masked if the sink may hold sensitive attributes.
func (b *base) rowText(c *record.Change, t view.Table, row state.Row) string {
	if b.mask != nil && (len(b.spec.AllowSensitive) > 0 || b.hidesKeys(c)) {
		return b.mask.Text(string(row))
	}
	pk, sk, err := row.Decode()
	if err != nil {
		return string(row)
	}
	text := t.PK + "=" + string(pk.AppendJSON(nil))
	if t.SK != "" {
		text += " " + t.SK + "=" + string(sk.AppendJSON(nil))
	}
	return text
}

// reasonUnread is the reason why an Unread finding is Skipped.
const reasonUnread = "the sink has a change of the item that no named record has"

// completeFindings sets the item of each finding. It also sets the verdicts that follow from the item: Stale, Skipped
// if a change of the item was not read or the item may have expired, and Held if a dead letter or a quarantined key
// explains a difference.
func (b *base) completeFindings(ctx context.Context, known *ItemState, fs []Finding) ([]Finding, error) {
	if known == nil {
		return fs, nil
	}
	mayLackChange := known.MayLack(newestVersion(fs))
	for i := range fs {
		if err := b.completeFinding(ctx, known, mayLackChange, &fs[i]); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// completeFinding is completeFindings for one finding. mayLackChange means that a change of the item may not have been
// read.
func (b *base) completeFinding(ctx context.Context, known *ItemState, mayLackChange bool, f *Finding) error {
	f.Item = known.Change.Key
	if known.Evidence == LastRecord {
		f.markStale(known.Change.Version)
	}
	switch {
	case f.Verdict.Differs() && mayLackChange:
		f.Underlying, f.Verdict, f.Unread = f.Verdict, Skipped, true
		f.addReason(reasonUnread)
	case f.Verdict == Extra && b.mayHaveExpired(known):
		f.Verdict, f.Reason = Skipped,
			"the item is gone, and the sink keeps expired items (drop: ttl_deletes): it is unknown whether it expired"
	}
	needsExplanation := f.Verdict.Differs() || f.Verdict == Skipped
	if !needsExplanation {
		return nil
	}
	why, command, err := b.heldKeys.explain(ctx, b.spec.Name, f.Item)
	if err == nil && why != "" {
		f.setHeld(why, command)
	}
	return err
}

// mayHaveExpired reports whether the sink drops the deletes of expired items, and the item may have expired. Only the
// record of a removal shows whether the item expired.
func (b *base) mayHaveExpired(known *ItemState) bool {
	if !known.Change.Removed() || !b.cfg.DropsTTLDeletes(b.spec) {
		return false
	}
	return known.Change.TTLDelete() || known.Evidence != LastRecord
}

// setHeld changes the verdict to Held, and puts reason before the present reason of f. command is the command that
// repairs the cause.
func (f *Finding) setHeld(reason, command string) {
	f.Underlying, f.Verdict, f.Command = cmp.Or(f.Underlying, f.Verdict), Held, command
	f.addReason(reason)
}

// addReason puts reason before the present reason of f.
func (f *Finding) addReason(reason string) {
	if f.Reason != "" {
		reason += "; " + f.Reason
	}
	f.Reason = reason
}

// setDifferences sets the names of differing parts, and makes f Wrong if there are any. differingCopy names the store's
// copy of the entry that differs from the entry; "" if none does. setDifferences uses it only if names is empty,
// because otherwise the copy differs as a result of the named parts.
func (f *Finding) setDifferences(names []string, differingCopy string) {
	if len(names) == 0 && differingCopy != "" {
		names = []string{differingCopy}
	}
	f.Differences = names
	if len(names) > 0 {
		f.Verdict = Wrong
	}
}

// unplannable returns the finding of an item that the planner rejected with err.
func (b *base) unplannable(ctx context.Context, known *ItemState, err error) ([]Finding, error) {
	return b.completeFindings(ctx, known, []Finding{{PlaceText: b.itemText(&known.Change), Verdict: Skipped,
		Reason: "the item cannot be written: " + err.Error()}})
}

// MarkStale changes a Wrong finding of an item to Stale if another place of the item, in any sink, has a newer version.
// The newer version shows that the sink missed a change that another sink has. bySink has the findings of the item in
// each sink.
func MarkStale(bySink ...[]Finding) {
	var newest record.Version
	for _, fs := range bySink {
		if v := newestVersion(fs); v.Compare(newest) > 0 {
			newest = v
		}
	}
	for _, fs := range bySink {
		for i := range fs {
			fs[i].markStale(newest)
		}
	}
}

// newestVersion returns the newest version of an item, of a change or of a repair, that the findings of the item show.
func newestVersion(fs []Finding) (newest record.Version) {
	for i := range fs {
		f := &fs[i]
		if f.hasItemVersion() && f.Version.Compare(newest) > 0 {
			newest = f.Version
		}
	}
	return newest
}

// hasItemVersion reports whether the version of f belongs to a change of the item in this sink.
func (f *Finding) hasItemVersion() bool {
	return f.Kind != Owner && f.Kind != Group && !f.hasOtherVersion
}

// markStale changes a Wrong finding to Stale if the stored entry is older than newest, the newest known version of the
// item. Then the sink missed a change, which explains the difference. A repair is no change.
func (f *Finding) markStale(newest record.Version) {
	isExplained := f.Reason != ""
	missedChange := f.Version.WithoutRepair().Compare(newest.WithoutRepair()) < 0
	if f.Verdict == Wrong && f.hasItemVersion() && !isExplained && missedChange {
		f.Verdict = Stale
	}
}
