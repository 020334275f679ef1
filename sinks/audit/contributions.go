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
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// groupSink compares an aggregate. It compares the contributions with the items, and the groups with the contributions.
type groupSink struct {
	base
	store     view.GroupStore
	aggregate *view.Aggregate
	t         view.Target
}

var _ GroupSink = (*groupSink)(nil)

func newGroupSink(b base, store view.GroupStore) (*groupSink, error) {
	o := sinks.AggregateOptions(b.cfg, b.spec)
	o.Birth = b.birth
	a, err := view.NewAggregate(o)
	if err != nil {
		return nil, err
	}
	return &groupSink{base: b, store: store, aggregate: a, t: a.Target()}, nil
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

// StoredEntries yields three kinds of entries: the contributions, the part that each contribution adds to each of its
// groups, and the groups. For an aggregate that keeps expired items it yields only the contributions. The groups of
// such an aggregate include the contributions of expired items, which are not stored any more.
func (s *groupSink) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		more := s.eachContribution(ctx, s.store, s.t, l, yield, func(d *digester, c *state.ItemContribution) bool {
			return yieldContribution(c, d.contributionDigest(c.Shares), yield) &&
				(s.keepsExpired() || s.yieldShares(d, c, yield))
		})
		if more && !s.keepsExpired() {
			s.storedGroups(ctx, l, yield)
		}
	}
}

// keepsExpired reports whether expired items still count in their groups, although they have no contribution any more.
func (s *groupSink) keepsExpired() bool { return s.spec.Aggregate.KeepOnTTL }

// eachContribution calls visit with each contribution of a view or an aggregate. It returns false if the sequence
// ended.
func (b *base) eachContribution(
	ctx context.Context, store any, t view.Target, l state.Listing, yield func(Entry, error) bool,
	visit func(d *digester, c *state.ItemContribution) bool,
) bool {
	lister, err := storeAs[view.ContributionLister](b, store, "list the contributions of items")
	if err != nil {
		return yield(Entry{}, err) && false
	}
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for c, err := range lister.ListContributions(ctx, t.State(), l) {
		if err != nil {
			return yield(Entry{}, fmt.Errorf("%s: contributions: %w", b.spec.Name, err)) && false
		}
		if !visit(d, &c) {
			return false
		}
	}
	return true
}

// yieldContribution yields a contribution. It leaves out a contribution whose item is only known by its hash, because
// Compare finds that one by the item. It returns false if the caller stopped the sequence.
func yieldContribution(c *state.ItemContribution, digest Digest, yield func(Entry, error) bool) bool {
	return c.Item == "" || yield(Entry{Kind: Contribution, Place: string(c.Item), Item: c.Item, Version: c.Version,
		Digest: digest}, nil)
}

// yieldShares yields the part that a contribution adds to each of its groups. It returns false if the caller stopped
// the sequence. A contribution that does not fit the aggregate adds nothing; Compare reports it.
func (s *groupSink) yieldShares(d *digester, c *state.ItemContribution, yield func(Entry, error) bool) bool {
	changes, err := s.aggregate.GroupsOf(c.Item, c.Contribution)
	if err != nil {
		return true
	}
	for i := range changes {
		c := &changes[i]
		if !yield(Entry{Kind: Group, Place: string(c.Row), Share: true,
			Digest: d.groupHalves(c.Shares, c.Counts, c.Sums, c.Members).digest()}, nil) {
			return false
		}
	}
	return true
}

// Compare compares the contribution of an item. It ignores the groups at places, which CompareGroups compares.
func (s *groupSink) Compare(ctx context.Context, c *record.Change, places []Entry) ([]Finding, error) {
	if c == nil {
		return nil, nil
	}
	ops, err := s.opsOf(c)
	var want []state.Share
	if err == nil {
		want, err = plannedShares(ops)
	}
	if err != nil {
		return s.unplannable(ctx, c, err)
	}
	if len(ops) == 0 && !slices.ContainsFunc(places, func(e Entry) bool { return e.Kind == Contribution }) {
		return nil, nil // a filter drops the item
	}
	f, err := s.compareContribution(ctx, c, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	return s.adjustVerdicts(ctx, c, []Finding{f})
}

// FindShares reads the groups that an item should count in.
func (s *groupSink) FindShares(ctx context.Context, c *record.Change) ([]Finding, error) {
	ops, err := s.opsOf(c)
	if err != nil {
		return nil, nil //nolint:nilerr // Compare reports the error
	}
	texts := make(map[state.Row]string)
	for _, op := range ops {
		if o, ok := op.(*view.GroupOp); ok && o.Row() != "" {
			texts[o.Row()] = o.KeyText()
		}
	}
	rows := slices.Sorted(maps.Keys(texts))
	if len(rows) == 0 {
		return nil, nil
	}
	in, err := storeAs[view.Inspector](&s.base, s.store, "read single rows")
	if err != nil {
		return nil, err
	}
	stored, err := in.StoredRows(ctx, s.t, rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	fs := make([]Finding, len(rows))
	for i, row := range rows {
		fs[i] = Finding{Kind: Group, Place: string(row), PlaceText: texts[row], Expected: true, Version: stored[i].Version,
			Verdict: Missing, FoundText: "nothing"}
		switch st := &stored[i]; {
		case !st.Exists || st.Tombstone:
		case !s.isOwn(st):
			fs[i].Verdict, fs[i].FoundText = Wrong, "a row of another sink"
		default:
			fs[i].Verdict, fs[i].FoundText = Equal, "a row; its values are not compared, since other items may count in it too"
		}
	}
	return fs, nil
}

func (s *groupSink) compareContribution(ctx context.Context, c *record.Change, want []state.Share) (Finding, error) {
	stored, err := s.store.Contributions(ctx, s.t.State(), []item.Key{c.Key})
	if err != nil {
		return Finding{}, err
	}
	have := stored[0]
	f := Finding{Kind: Contribution, Place: string(c.Key), PlaceText: s.itemText(c), Expected: len(want) > 0,
		Version: have.Version, Verdict: Equal, FoundText: countsText(len(have.Shares))}
	switch {
	case have.Version.IsZero():
		f.FoundText = "nothing"
		if len(want) > 0 {
			f.Verdict = Missing
		}
	case len(want) == 0 && len(have.Shares) == 0:
	case len(want) == 0 && c.Removed() && s.keepsExpired():
		f.Verdict, f.Reason = Skipped,
			"the item is gone, and the aggregate keeps expired items: it is unknown whether it expired"
	case len(want) == 0:
		f.Verdict = Extra
	default:
		f.setDifferences(s.shareDifferences(c, have.Shares, want), "")
	}
	return f, nil
}

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
	var names []string // in the order of state.Share.Values
	for _, v := range s.spec.Aggregate.Values {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	group := func(share state.Share) string { return s.rowText(c, s.t.Table, share.Group) }
	var lines []string
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			lines = append(lines, "does not count in "+group(want[i]))
		case i >= len(want):
			lines = append(lines, "still counts in "+group(have[i]))
		case have[i].Group != want[i].Group:
			lines = append(lines, "counts in "+group(have[i])+" and not in "+group(want[i]))
		default:
			if differing := differingValues(names, &have[i], &want[i]); len(differing) > 0 {
				lines = append(lines, strings.Join(differing, ", ")+" in "+group(want[i]))
			}
		}
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
