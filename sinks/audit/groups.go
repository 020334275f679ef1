package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// storedGroups yields the stored groups.
func (s *groupSink) storedGroups(ctx context.Context, l state.Listing, yield func(Entry, error) bool) {
	lister, err := storeAs[view.GroupLister](&s.base, s.store, "list groups")
	if err != nil {
		yield(Entry{}, err)
		return
	}
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for g, err := range lister.ListGroups(ctx, s.t, s.aggregate.Values(), l) {
		if err != nil {
			yield(Entry{}, fmt.Errorf("%s: groups: %w", s.spec.Name, err))
			return
		}
		entry := Entry{Kind: Group, Place: string(g.Row), Version: g.Version, Digest: d.group(&g, s.unexpectedParts(&g))}
		if !yield(entry, nil) {
			return
		}
	}
}

// unexpectedParts describes the parts of a stored group that no group of the sink should have, whatever items count in
// it. Two parts are foreign: another birth, the recorded identity of an output, and attributes that do not follow from
// the stored counts, sums and members. foreignToGroup returns "" if there are no foreign parts.
func (s *groupSink) unexpectedParts(g *view.Group) string {
	foreign := s.foreignBirth(g.Birth) + g.Derived
	if damaged := s.damagedAttributes(g); len(damaged) > 0 {
		foreign += " attributes " + strings.Join(damaged, ",")
	}
	return foreign
}

// damagedAttributes returns the names of the attributes that do not follow from the group's counts, sums and members.
func (s *groupSink) damagedAttributes(g *view.Group) []string {
	want := s.attributes(g)
	var names []string
	for name, v := range want {
		if have, _ := g.Item.Get(name); !have.Equal(v) {
			names = append(names, name)
		}
	}
	for name := range g.Item.All() {
		_, ok := want[name]
		if !ok && name != s.t.PK && name != s.t.SK && !strings.HasPrefix(name, reservedField) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// attributes returns the attributes of a group that readers see, without its key.
func (s *groupSink) attributes(g *view.Group) map[string]item.Value {
	as := make(map[string]item.Value, len(g.Counts)+len(g.Sums))
	for _, increments := range [][]state.Increment{g.Counts, g.Sums} {
		for _, i := range increments {
			as[i.Name] = i.Amount.Value()
		}
	}
	addMemberAttributes(as, g.Members)
	return as
}

// addMemberAttributes adds the least, greatest and distinct values of members.
func addMemberAttributes(attributes map[string]item.Value, members []state.Member) {
	values := make(map[string]map[string]bool) // distinct members by name
	least, greatest := make(map[string]string), make(map[string]string)
	for i := range members {
		switch m := &members[i]; m.Kind {
		case state.Min:
			if have, ok := least[m.Name]; !ok || m.Value < have {
				least[m.Name] = m.Value
			}
		case state.Max:
			if have, ok := greatest[m.Name]; !ok || m.Value > have {
				greatest[m.Name] = m.Value
			}
		case state.Distinct:
			if values[m.Name] == nil {
				values[m.Name] = make(map[string]bool)
			}
			values[m.Name][m.Value] = true
		}
	}
	for _, texts := range []map[string]string{least, greatest} {
		for name, text := range texts {
			attributes[name], _ = state.ParseSortable(text) // a text that does not parse counts as absent, so it differs
		}
	}
	for name, distinct := range values {
		attributes[name] = item.NumberValue(decimal.Of(int64(len(distinct))))
	}
}

// groupSum is the sum of the contributions to one group.
type groupSum struct {
	shares         int64
	numbers        map[string]state.Number // counts and sums by name
	members        map[state.Member]bool
	newest         state.GroupChange // the last change that was added, for the order of counts and sums
	hasUnknownItem bool              // a contribution whose item is unknown counts in the group
}

func (g *groupSum) add(c *state.GroupChange) {
	if g.numbers == nil {
		g.numbers, g.members = make(map[string]state.Number), make(map[state.Member]bool)
	}
	g.shares += c.Shares
	for _, increments := range [][]state.Increment{c.Counts, c.Sums} {
		for _, i := range increments {
			g.numbers[i.Name] = g.numbers[i.Name].Add(i.Amount)
		}
	}
	for _, m := range c.Members {
		g.members[m] = true
	}
	if c.Version.Compare(g.newest.Version) < 0 {
		c.Version = g.newest.Version
	}
	g.newest = *c
}

// sumGroups adds up the contributions to the groups at rows. l limits the rate. Its segment, the part of the contents
// to list, is ignored.
func (s *groupSink) sumGroups(ctx context.Context, l state.Listing, rows []state.Row) (map[state.Row]*groupSum, error) {
	sums := make(map[state.Row]*groupSum, len(rows))
	for _, row := range rows {
		sums[row] = new(groupSum)
	}
	lister, err := storeAs[view.ContributionLister](&s.base, s.store, "list the contributions of items")
	if err != nil {
		return nil, err
	}
	for c, err := range lister.ListContributions(ctx, s.t.State(),
		state.Listing{Spend: l.Spend, Throttled: l.Throttled, Consistent: true}) {
		if err != nil {
			return nil, fmt.Errorf("contributions: %w", err)
		}
		changes, err := s.aggregate.GroupsOf(c.Item, c.Contribution)
		if err != nil {
			continue // Compare reports it
		}
		for i := range changes {
			g := sums[changes[i].Row]
			if c.Item == "" {
				s.markUnknown(sums, &c.Contribution)
			} else if g != nil {
				g.add(&changes[i])
			}
		}
	}
	return sums, nil
}

// markUnknown marks the groups that a contribution of an unknown item may count in. The item's key selects the shard of
// a group. Without the key the shard is unknown, so markUnknown marks all shards.
func (s *groupSink) markUnknown(sums map[state.Row]*groupSum, c *state.Contribution) {
	for row, g := range sums {
		for i := range c.Shares {
			g.hasUnknownItem = g.hasUnknownItem || s.aggregate.IsRowOf(c.Shares[i].Group, row)
		}
	}
}

// readGroups reads the groups at rows.
func (s *groupSink) readGroups(ctx context.Context, rows []state.Row) ([]view.Group, error) {
	reader, err := storeAs[view.GroupReader](&s.base, s.store, "read single groups")
	if err != nil {
		return nil, err
	}
	return reader.ReadGroups(ctx, s.t, s.aggregate.Values(), rows)
}

// WhyGroupsNotCompared returns the reason why the groups cannot be compared; "" if they can be compared.
func (s *groupSink) WhyGroupsNotCompared() string {
	if !s.keepsExpired() {
		return ""
	}
	return "the aggregate keeps what expired items counted for (on_ttl_delete: keep), and nothing tells which items these were"
}

// comparedGroup is a group that was read before and after its contributions were summed.
type comparedGroup struct {
	stored  view.Group
	sum     *groupSum
	finding Finding
}

// CompareGroups compares groups with the sums of their contributions. l limits the rate; its segment is ignored.
func (s *groupSink) CompareGroups(ctx context.Context, l state.Listing, places []string) ([]Finding, error) {
	looked, err := s.readAndCompareGroups(ctx, l, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	fs := make([]Finding, len(looked))
	for i := range looked {
		fs[i] = looked[i].finding
	}
	return fs, nil
}

func (s *groupSink) readAndCompareGroups(
	ctx context.Context, l state.Listing, places []string,
) ([]comparedGroup, error) {
	looked := make([]comparedGroup, len(places))
	rows := make([]state.Row, len(places))
	for i, p := range places {
		rows[i] = state.Row(p)
		looked[i].finding = Finding{Kind: Group, Place: p, PlaceText: s.rowText(nil, s.t.Table, rows[i])}
	}
	if s.keepsExpired() {
		for i := range looked {
			looked[i].finding.Verdict, looked[i].finding.Reason = Skipped, s.WhyGroupsNotCompared()
		}
		return looked, nil
	}
	before, err := s.readGroups(ctx, rows)
	if err != nil {
		return nil, err
	}
	sums, err := s.sumGroups(ctx, l, rows)
	if err != nil {
		return nil, err
	}
	after, err := s.readGroups(ctx, rows)
	if err != nil {
		return nil, err
	}
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for i := range looked {
		g := &looked[i]
		g.stored, g.sum = after[i], sums[rows[i]]
		if before[i].Revision != after[i].Revision || d.group(&before[i], "") != d.group(&after[i], "") {
			g.finding.Verdict, g.finding.FoundText = Busy, "the group changed while its contributions were read"
			continue
		}
		s.compareGroup(g)
	}
	return looked, nil
}

// compareGroup compares a stored group with the sum of its contributions, and sets the verdict of its finding.
func (s *groupSink) compareGroup(g *comparedGroup) {
	f, stored, sum := &g.finding, &g.stored, g.sum
	f.Version, f.Revision = stored.Version, stored.Revision
	f.Expected = sum.shares > 0
	exists := stored.Row != "" && stored.Item.Exists()
	f.FoundText = "a row"
	switch {
	case sum.hasUnknownItem:
		f.Verdict, f.Reason = Skipped, "an item counts in it whose key is too long to be known"
	case stored.Row == "" && !f.Expected:
		f.Verdict, f.FoundText = Equal, "nothing"
	case !f.Expected:
		f.Verdict = Extra
	case !exists:
		f.Verdict, f.FoundText = Missing, "nothing"
	default:
		f.Verdict = Equal
		f.setDifferences(s.groupDifferences(stored, sum), stored.Derived)
	}
}

// groupDifferences returns the names of the values that differ from the sum of the contributions. The name _tw means
// that the number of shares or the birth differs.
func (s *groupSink) groupDifferences(stored *view.Group, sum *groupSum) []string {
	names := s.damagedAttributes(stored)
	if stored.Shares != sum.shares || s.foreignBirth(stored.Birth) != "" {
		names = append(names, reservedField)
	}
	storedAmounts := make(map[string]string)
	for _, increments := range [][]state.Increment{stored.Counts, stored.Sums} {
		for _, i := range increments {
			storedAmounts[i.Name] = i.Amount.String()
		}
	}
	for name, n := range sum.numbers {
		if storedAmounts[name] != n.String() {
			names = append(names, name)
		}
	}
	members := make(map[state.Member]bool, len(stored.Members))
	for _, m := range stored.Members {
		members[m] = true
		if !sum.members[m] {
			names = append(names, m.Name)
		}
	}
	for m := range sum.members {
		if !members[m] {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
