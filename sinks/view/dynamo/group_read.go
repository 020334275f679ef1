package dynamo

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.GroupLister = (*Store)(nil)
	_ view.GroupReader = (*Store)(nil)
)

// groupChunk is the number of groups whose members are read at the same time.
const groupChunk = 16

// groupReader reads groups of an aggregate.
type groupReader struct {
	*Store
	target view.Target
	values []view.Value
}

// storedGroup is a group with the data that is needed to read its members.
type storedGroup struct {
	view.Group
	index      int    // index of the group's row in the call
	epoch      string // text that identifies the members of this row; "" if it never had members
	hasMembers bool   // the state table has members of the group
}

// ListGroups scans the table of rows. For each row it queries the members of each min, max and distinct in the state
// table. If members are written during the listing, they may not match the row.
func (s *Store) ListGroups(
	ctx context.Context, t view.Target, values []view.Value, l state.Listing,
) iter.Seq2[view.Group, error] {
	r := groupReader{s, t, values}
	groups := seq.Map(s.list(ctx, t, l), func(image dynamo.Item) (storedGroup, bool, error) {
		g, err := r.parseGroup(image)
		return g, true, err
	})
	return seq.FlatMap(seq.Chunk(groups, groupChunk), func(chunk []storedGroup) ([]view.Group, error) {
		if err := r.readMembers(ctx, chunk, l); err != nil {
			return nil, err
		}
		withMembers := make([]view.Group, len(chunk))
		for i := range chunk {
			withMembers[i] = chunk[i].Group
		}
		return withMembers, nil
	})
}

// ReadGroups reads the rows, then their members, and then the rows with members again. If the revision of a row is
// still the same, its members are consistent with the row. Otherwise ReadGroups reads the members of the changed row
// again.
func (s *Store) ReadGroups(
	ctx context.Context, t view.Target, values []view.Value, rows []state.Row,
) ([]view.Group, error) {
	refs, err := refsOf(t.Table, rows)
	if err != nil {
		return nil, err
	}
	r := groupReader{s, t, values}
	remaining, err := r.readRows(ctx, refs)
	if err != nil {
		return nil, err
	}

	groups := make([]view.Group, len(rows))
	for tries := 0; len(remaining) > 0; tries++ {
		if tries == maxReads {
			return nil, pipeline.Transient(
				errs.Errorf("dynamodb: other workers change a group's row in table %s faster than it is read", redact.Safe(t.Name)))
		}
		if err := r.readMembers(ctx, remaining, state.Listing{}); err != nil {
			return nil, err
		}
		for _, g := range remaining {
			groups[g.index] = g.Group
		}
		if remaining, err = r.rereadChanged(ctx, refs, remaining); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// rereadChanged reads the rows of groups with members again. It returns the groups whose rows have changed since they
// were read into before.
func (r *groupReader) rereadChanged(
	ctx context.Context, refs []dynamo.Ref, before []storedGroup,
) (changed []storedGroup, err error) {
	var checked []storedGroup
	var checkedRefs []dynamo.Ref
	for _, g := range before {
		if g.hasMembers {
			checked, checkedRefs = append(checked, g), append(checkedRefs, refs[g.index])
		}
	}
	reread, err := r.readRows(ctx, checkedRefs)
	if err != nil {
		return nil, err
	}
	for i, g := range checked {
		if reread[i].Revision != g.Revision {
			reread[i].index = g.index
			changed = append(changed, reread[i])
		}
	}
	return changed, nil
}

// readRows reads the rows of groups without their members. The result has the zero Group for a row that is missing or
// belongs to another sink.
func (r *groupReader) readRows(ctx context.Context, refs []dynamo.Ref) ([]storedGroup, error) {
	images, err := r.views.Get(ctx, refs)
	if err != nil {
		return nil, tableError(r.target.Table, err)
	}
	groups := make([]storedGroup, len(images))
	for i, image := range images {
		meta, ok := metaOf(image)
		_, isTombstone := image[expiresAttribute]
		isOwnRow := ok && meta.sameSink(r.target) && !isTombstone
		if isOwnRow {
			if groups[i], err = r.parseGroup(maps.Clone(image)); err != nil {
				return nil, err
			}
		}
		groups[i].index = i
	}
	return groups, nil
}

// parseGroup parses the row of a group. It leaves out values that were damaged by hand. It removes the store's
// attributes from image.
func (r *groupReader) parseGroup(image dynamo.Item) (storedGroup, error) {
	meta, _ := metaOf(image)
	g := storedGroup{epoch: dynamo.Text(image, epochAttribute)}
	g.Revision = meta.revision
	g.Shares, _ = dynamo.ParseInteger(dynamo.Digits(image, sharesAttribute))
	row, _, err := readerRow(r.target.Table, image)
	if err != nil && !errors.Is(err, errNoVersion) {
		return g, err
	}
	g.Item, g.Birth, g.Version = row.Item, row.Birth, row.Version
	if g.Row, err = state.MakeRow(row.PK, row.SK); err != nil {
		return g, err
	}

	for _, v := range r.values {
		if _, ok := v.MemberKind(); ok {
			g.hasMembers = g.epoch != ""
			continue
		}
		if n, err := numberOf(image[v.Name]); err == nil && image[v.Name] != nil {
			g.AddTotal(v, n)
		}
	}
	return g, nil
}

// readMembers sets the members of groups. It reads several groups at the same time.
func (r *groupReader) readMembers(ctx context.Context, groups []storedGroup, l state.Listing) error {
	failed := make([]error, len(groups))
	r.Each(len(groups), func(i int) {
		groups[i].Members = nil
		if groups[i].hasMembers {
			groups[i].Members, failed[i] = r.readGroupMembers(ctx, &groups[i], l)
		}
	})
	return cmp.Or(failed...)
}

// readGroupMembers reads the members of all values of a group.
func (r *groupReader) readGroupMembers(
	ctx context.Context, g *storedGroup, l state.Listing,
) (all []state.Member, err error) {
	target := r.target.State()
	target.Birth = g.Birth
	for _, v := range r.values {
		kind, ok := v.MemberKind()
		if !ok {
			continue
		}
		members, err := r.Members(ctx, target, g.Row, g.epoch, v.Name, kind, l)
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
	}
	return all, nil
}
