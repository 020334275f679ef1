package audit

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// groupSink compares an aggregate. It compares the contributions with the items, and the groups with the contributions.
type groupSink struct {
	base
	store     view.GroupStore
	aggregate *view.Aggregate
	target    view.Target
}

var _ GroupSink = (*groupSink)(nil)

func newGroupSink(b base, store view.GroupStore) (*groupSink, error) {
	o := sinks.AggregateOptions(b.cfg, b.spec)
	o.Birth = b.birth
	a, err := view.NewAggregate(o)
	if err != nil {
		return nil, err
	}
	return &groupSink{base: b, store: store, aggregate: a, target: a.Target()}, nil
}

// ExpectedEntries yields the contribution of an item. An item that counts in no group has no contribution.
func (s *groupSink) ExpectedEntries(c *record.Change, yield func(Entry)) error {
	if c.Removed() {
		return nil
	}
	return s.planner.withOps(c, func(ops []pipeline.Op) error {
		shares, err := plannedShares(ops)
		if err != nil || len(shares) == 0 {
			return err
		}
		d := digesters.Get().(*digester)
		defer digesters.Put(d)
		yield(Entry{Kind: Contribution, Place: string(c.Key), Item: c.Key, Digest: d.contributionDigest(shares)})
		return nil
	})
}

// plannedShares returns the shares that planned ops add to groups. There are none if the item counts in no group.
func plannedShares(ops []pipeline.Op) ([]state.Share, error) {
	var shares []state.Share
	for _, op := range ops {
		o, ok := op.(*view.GroupOp)
		if !ok {
			continue
		}
		if err := o.Err(); err != nil {
			return nil, err
		}
		if o.Share.Group != "" {
			shares = append(shares, o.Share)
		}
	}
	return shares, nil
}

// StoredEntries yields three kinds of entries: contributions, shares (what one contribution adds to one of its groups),
// and groups. For an aggregate that keeps expired items it yields only contributions. There, a group also counts
// expired items, and their contributions are not stored any more.
func (s *groupSink) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	lister, err := storeAs[view.ContributionLister](s.store, "list the contributions of items")
	if err != nil {
		return noEntries(err)
	}
	d := new(digester)
	contributionEntries := func(dst []Entry, c *state.ItemContribution) ([]Entry, error) {
		dst = appendContribution(dst, c, d.contributionDigest(c.Shares))
		if !s.keepsExpired() {
			dst = s.appendShares(dst, d, c)
		}
		return dst, nil
	}
	contributions := storedEntries(s.spec.Name+": contributions", lister.ListContributions(ctx, s.target.State(), l),
		contributionEntries)
	if s.keepsExpired() {
		return contributions
	}
	return seq.Concat(contributions, s.storedGroups(ctx, d, l))
}

// keepsExpired reports whether expired items still count in their groups, although they have no contribution any more.
func (s *groupSink) keepsExpired() bool { return s.spec.Aggregate.KeepOnTTL }

// appendContribution appends the entry of a contribution. It leaves out a contribution that stores only a hash of its
// item. Compare finds such a contribution by the item.
func appendContribution(dst []Entry, c *state.ItemContribution, digest Digest) []Entry {
	if c.Item == "" {
		return dst
	}
	return append(dst, Entry{Kind: Contribution, Place: string(c.Item), Item: c.Item, Version: c.Version, Digest: digest})
}

// appendShares appends the part that a contribution adds to each of its groups. A contribution that does not fit the
// aggregate adds nothing; Compare reports it.
func (s *groupSink) appendShares(dst []Entry, d *digester, c *state.ItemContribution) []Entry {
	changes, err := s.aggregate.GroupChanges(c.Item, c.Contribution)
	if err != nil {
		return dst
	}
	for i := range changes {
		change := &changes[i]
		digest := d.groupHalves(change.Shares, change.Counts, change.Sums, change.Members).digest()
		dst = append(dst, Entry{Kind: Group, Place: string(change.Row), Share: true, Digest: digest})
	}
	return dst
}

// Compare compares the contribution of an item. It ignores groups in places, because CompareGroups compares groups.
func (s *groupSink) Compare(ctx context.Context, known *ItemState, places []Entry) ([]Finding, error) {
	c := known.change()
	if c == nil {
		return nil, nil
	}
	ops, err := s.opsOf(c)
	if err != nil {
		return s.unplannable(ctx, known, err)
	}
	want, err := plannedShares(ops)
	if err != nil {
		return s.unplannable(ctx, known, err)
	}
	isFiltered := len(ops) == 0 // a filter drops the item
	isStored := slices.ContainsFunc(places, func(e Entry) bool { return e.Kind == Contribution })
	if isFiltered && !isStored {
		return nil, nil
	}
	f, err := s.compareContribution(ctx, c, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	return s.completeFindings(ctx, known, []Finding{f})
}

// FindGroups reads the groups that an item should count in.
func (s *groupSink) FindGroups(ctx context.Context, c *record.Change) ([]Finding, error) {
	ops, err := s.opsOf(c)
	if err != nil {
		return nil, nil //nolint:nilerr // Compare reports the error
	}
	keyTexts := make(map[state.Row]string) // of the groups' rows, for people
	for _, op := range ops {
		if o, ok := op.(*view.GroupOp); ok && o.Row() != "" {
			keyTexts[o.Row()] = o.KeyText()
		}
	}
	rows := slices.Sorted(maps.Keys(keyTexts))
	if len(rows) == 0 {
		return nil, nil
	}
	stored, err := s.rowsAt(ctx, s.store, s.target, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	findings := make([]Finding, len(rows))
	for i, row := range rows {
		findings[i] = s.findGroup(row, keyTexts[row], &stored[i])
	}
	return findings, nil
}

// findGroup returns the finding of a group that should exist. It does not compare the values of the group.
func (s *groupSink) findGroup(row state.Row, keyText string, st *view.StoredRow) Finding {
	f := Finding{Kind: Group, Place: string(row), PlaceText: keyText, Expected: true, Version: st.Version}
	switch {
	case !st.Exists || st.Tombstone:
		f.Verdict, f.FoundText = Missing, "nothing"
	case !s.isOwn(st):
		f.Verdict, f.FoundText = Wrong, "a row of another sink"
	default:
		f.Verdict, f.FoundText = Equal, "a row; its values are not compared, since other items may count in it too"
	}
	return f
}

// compareContribution compares the stored contribution of an item with the planned shares.
func (s *groupSink) compareContribution(ctx context.Context, c *record.Change, want []state.Share) (Finding, error) {
	contributions, err := s.store.Contributions(ctx, s.target.State(), []item.Key{c.Key})
	if err != nil {
		return Finding{}, err
	}
	stored := contributions[0]
	f := Finding{Kind: Contribution, Place: string(c.Key), PlaceText: s.itemText(c), Expected: len(want) > 0,
		Version: stored.Version, Verdict: Equal, FoundText: "nothing"}
	isStored := !stored.Version.IsZero()
	if isStored {
		f.FoundText = countsText(len(stored.Shares))
	}
	countsUnexpectedly := !f.Expected && isStored && len(stored.Shares) > 0
	mayHaveExpired := c.Removed() && s.keepsExpired()
	switch {
	case f.Expected && !isStored:
		f.Verdict = Missing
	case f.Expected:
		f.setDifferences(s.shareDifferences(c, stored.Shares, want), "")
	case countsUnexpectedly && mayHaveExpired:
		f.Verdict, f.Reason = Skipped,
			"the item is gone, and the aggregate keeps expired items: it is unknown whether it expired"
	case countsUnexpectedly:
		f.Verdict = Extra
	}
	return f, nil
}

// countsText says for people how often an item counts. n is the number of its shares.
func countsText(n int) string {
	switch n {
	case 0:
		return "counts for nothing"
	case 1:
		return "counts once"
	}
	return fmt.Sprintf("counts %d times", n)
}

// shareDifferences describes the groups in which the item counts with other values than planned. It compares the shares
// by index, as the sink does.
func (s *groupSink) shareDifferences(c *record.Change, have, want []state.Share) []string {
	var valueNames []string // in the order of state.Share.Values
	for _, v := range s.spec.Aggregate.Values {
		valueNames = append(valueNames, v.Name)
	}
	slices.Sort(valueNames)
	groupText := func(share *state.Share) string { return s.rowText(c, s.target.Table, share.Group) }
	shared := min(len(have), len(want))

	var lines []string
	for i := range shared {
		stored, planned := &have[i], &want[i]
		if stored.Group != planned.Group {
			lines = append(lines, "counts in "+groupText(stored)+" and not in "+groupText(planned))
		} else if names := differingValues(valueNames, stored, planned); len(names) > 0 {
			lines = append(lines, strings.Join(names, ", ")+" in "+groupText(planned))
		}
	}
	for i := shared; i < len(want); i++ {
		lines = append(lines, "does not count in "+groupText(&want[i]))
	}
	for i := shared; i < len(have); i++ {
		lines = append(lines, "still counts in "+groupText(&have[i]))
	}
	return lines
}

// differingValues returns the names of the values that differ in two shares of a group.
func differingValues(names []string, have, want *state.Share) (differing []string) {
	for i, name := range names {
		if i >= len(have.Values) || have.Values[i] != want.Values[i] {
			differing = append(differing, name)
		}
	}
	return differing
}
