package audit

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// storedGroups yields the stored groups.
func (s *groupSink) storedGroups(ctx context.Context, d *digester, l state.Listing) iter.Seq2[Entry, error] {
	lister, err := storeAs[view.GroupLister](s.store, "list groups")
	if err != nil {
		return noEntries(err)
	}
	return storedEntries(s.spec.Name+": groups", lister.ListGroups(ctx, s.target, s.aggregate.Values(), l),
		func(dst []Entry, g *view.Group) ([]Entry, error) {
			digest := d.groupDigest(g, s.unexpectedParts(g))
			return append(dst, Entry{Kind: Group, Place: string(g.Row), Version: g.Version, Digest: digest}), nil
		})
}

// unexpectedParts describes the parts of a stored group that no group of the sink should have, whatever items count in
// it. Such parts are the birth (recorded identity) of another output, and attributes that do not follow from the stored
// counts, sums and members. unexpectedParts returns "" if there are no such parts.
func (s *groupSink) unexpectedParts(g *view.Group) string {
	parts := s.foreignBirth(g.Birth) + g.DifferingCopy
	if damaged := s.damagedAttributes(g); len(damaged) > 0 {
		parts += " attributes " + strings.Join(damaged, ",")
	}
	return parts
}

// damagedAttributes returns the names of the attributes that do not follow from the group's counts, sums and members.
func (s *groupSink) damagedAttributes(g *view.Group) []string {
	want := visibleAttributes(g)
	var names []string
	for name, value := range want {
		if stored, _ := g.Item.Get(name); !stored.Equal(value) {
			names = append(names, name)
		}
	}
	for name := range g.Item.All() {
		_, wanted := want[name]
		isOfStore := name == s.target.PK || name == s.target.SK || strings.HasPrefix(name, reservedField)
		if !wanted && !isOfStore {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// visibleAttributes returns the attributes of a group that readers see, without its key.
func visibleAttributes(g *view.Group) map[string]item.Value {
	attributes := make(map[string]item.Value, len(g.Counts)+len(g.Sums))
	for _, increment := range slices.Concat(g.Counts, g.Sums) {
		attributes[increment.Name] = increment.Amount.Value()
	}
	addMemberValues(attributes, g.Members)
	return attributes
}

// addMemberValues adds an attribute for each min, max and distinct of the aggregate: the least value of its members,
// the greatest value, or the number of different values. If that value does not parse, the attribute counts as absent,
// so that it differs from the stored attribute.
func addMemberValues(attributes map[string]item.Value, members []state.Member) {
	type column struct {
		name string
		kind state.MemberKind
	}
	values := make(map[column][]string)
	for i := range members {
		c := column{members[i].Name, members[i].Kind}
		values[c] = append(values[c], members[i].Value)
	}
	for c, texts := range values {
		switch c.kind {
		case state.Min:
			attributes[c.name], _ = state.ParseSortable(slices.Min(texts))
		case state.Max:
			attributes[c.name], _ = state.ParseSortable(slices.Max(texts))
		case state.Distinct:
			slices.Sort(texts)
			attributes[c.name] = item.NumberValue(decimal.Of(int64(len(slices.Compact(texts)))))
		}
	}
}

// groupSum is the sum of the contributions to one group.
type groupSum struct {
	shares         int64
	numbers        map[string]state.Number // counts and sums by name
	members        map[state.Member]bool
	newestVersion  record.Version
	lastChange     state.GroupChange // the change that was added last; it shows the order of the counts and sums
	hasUnknownItem bool              // a contribution whose item is unknown counts in the group
}

// add adds c, the part of the group that one contribution makes up.
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
	if c.Version.Compare(g.newestVersion) > 0 {
		g.newestVersion = c.Version
	}
	g.lastChange = *c
}

// sumGroups adds up the contributions to the groups at rows. It uses l only to limit the rate, and ignores the segment
// (the part of the contents to list).
func (s *groupSink) sumGroups(ctx context.Context, l state.Listing, rows []state.Row) (map[state.Row]*groupSum, error) {
	sums := make(map[state.Row]*groupSum, len(rows))
	for _, row := range rows {
		sums[row] = new(groupSum)
	}
	lister, err := storeAs[view.ContributionLister](s.store, "list the contributions of items")
	if err != nil {
		return nil, err
	}
	everything := state.Listing{Spend: l.Spend, Throttled: l.Throttled, Consistent: true}
	for c, err := range lister.ListContributions(ctx, s.target.State(), everything) {
		if err != nil {
			return nil, fmt.Errorf("contributions: %w", err)
		}
		changes, err := s.aggregate.GroupChanges(c.Item, c.Contribution)
		if err != nil {
			continue // Compare reports it
		}
		if c.Item == "" {
			s.markUnknown(sums, &c.Contribution)
			continue
		}
		for i := range changes {
			if sum := sums[changes[i].Row]; sum != nil {
				sum.add(&changes[i])
			}
		}
	}
	return sums, nil
}

// markUnknown marks the groups that a contribution of an unknown item may count in. The item's key selects the shard of
// a group. Without the key the shard is unknown, so markUnknown marks all shards.
func (s *groupSink) markUnknown(sums map[state.Row]*groupSum, c *state.Contribution) {
	for row, sum := range sums {
		if slices.ContainsFunc(c.Shares, func(share state.Share) bool { return s.aggregate.IsRowOf(share.Group, row) }) {
			sum.hasUnknownItem = true
		}
	}
}

// readGroups reads the groups at rows.
func (s *groupSink) readGroups(ctx context.Context, rows []state.Row) ([]view.Group, error) {
	reader, err := storeAs[view.GroupReader](s.store, "read single groups")
	if err != nil {
		return nil, err
	}
	return reader.ReadGroups(ctx, s.target, s.aggregate.Values(), rows)
}

// GroupsSkippedReason returns the reason why the groups cannot be compared; "" if they can be compared.
func (s *groupSink) GroupsSkippedReason() string {
	if !s.keepsExpired() {
		return ""
	}
	return "the aggregate keeps what expired items counted for (on_ttl_delete: keep), and it is unknown which items these were"
}

// comparedGroup is a group that was read before and after its contributions were summed.
type comparedGroup struct {
	stored  view.Group
	sum     *groupSum
	finding Finding
}

// CompareGroups compares groups with the sums of their contributions. l limits the rate; its segment is ignored.
func (s *groupSink) CompareGroups(ctx context.Context, l state.Listing, places []string) ([]Finding, error) {
	groups, err := s.sumAndCompareGroups(ctx, l, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	findings := make([]Finding, len(groups))
	for i := range groups {
		findings[i] = groups[i].finding
	}
	return findings, nil
}

// sumAndCompareGroups is CompareGroups, but also returns the groups that were read, and their sums.
func (s *groupSink) sumAndCompareGroups(
	ctx context.Context, l state.Listing, places []string,
) ([]comparedGroup, error) {
	groups := make([]comparedGroup, len(places))
	rows := make([]state.Row, len(places))
	for i, place := range places {
		rows[i] = state.Row(place)
		groups[i].finding = Finding{Kind: Group, Place: place, PlaceText: s.rowText(nil, s.target.Table, rows[i])}
	}
	if s.keepsExpired() {
		for i := range groups {
			groups[i].finding.Verdict, groups[i].finding.Reason = Skipped, s.GroupsSkippedReason()
		}
		return groups, nil
	}

	// The groups are read twice, so that a group that changed meanwhile is not compared with other contributions.
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
	for i := range groups {
		g := &groups[i]
		g.stored, g.sum = after[i], sums[rows[i]]
		isRewritten := before[i].Revision != after[i].Revision
		if isRewritten || d.groupDigest(&before[i], "") != d.groupDigest(&after[i], "") {
			g.finding.Verdict, g.finding.FoundText = Busy, "the group changed while its contributions were read"
		} else {
			s.compareGroup(g)
		}
	}
	return groups, nil
}

// compareGroup compares a stored group with the sum of its contributions, and sets the verdict of its finding.
func (s *groupSink) compareGroup(g *comparedGroup) {
	f, stored, sum := &g.finding, &g.stored, g.sum
	f.Version, f.Revision = stored.Version, stored.Revision
	f.Expected = sum.shares > 0
	isStored := stored.Row != ""
	hasRow := isStored && stored.Item.Exists() // otherwise only members of the group may be stored
	f.FoundText = "a row"
	switch {
	case sum.hasUnknownItem:
		f.Verdict, f.Reason = Skipped, "an item counts in it whose key is too long to be known"
	case !f.Expected && !isStored:
		f.Verdict, f.FoundText = Equal, "nothing"
	case !f.Expected:
		f.Verdict = Extra
	case !hasRow:
		f.Verdict, f.FoundText = Missing, "nothing"
	default:
		f.Verdict = Equal
		f.setDifferences(s.groupDifferences(stored, sum), stored.DifferingCopy)
	}
}

// groupDifferences returns the names of the values that differ from the sum of the contributions. The name _tw means
// that the number of shares or the birth differs.
func (s *groupSink) groupDifferences(stored *view.Group, sum *groupSum) []string {
	names := s.damagedAttributes(stored)
	if stored.Shares != sum.shares || s.foreignBirth(stored.Birth) != "" {
		names = append(names, reservedField)
	}
	names = append(names, differingNumbers(stored, sum)...)
	names = append(names, differingMembers(stored, sum)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// differingNumbers returns the names of the counts and sums that differ from the sum of the contributions.
func differingNumbers(stored *view.Group, sum *groupSum) []string {
	amounts := make(map[string]string)
	for _, increment := range slices.Concat(stored.Counts, stored.Sums) {
		amounts[increment.Name] = increment.Amount.String()
	}
	var names []string
	for name, n := range sum.numbers {
		if amounts[name] != n.String() {
			names = append(names, name)
		}
	}
	return names
}

// differingMembers returns the names of the members that only the stored group or only the sum has.
func differingMembers(stored *view.Group, sum *groupSum) []string {
	var names []string
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
	return names
}
