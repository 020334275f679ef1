package dynamo

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// groupChunk is the number of groups whose members are read at once.
const groupChunk = 16

// ListGroups scans the table of rows, and queries the members of each min, max and distinct of each row in the state
// table. Members that were written meanwhile may not fit to the row.
func (s *Store) ListGroups(ctx context.Context, t view.Target, values []view.Value, l state.Listing) iter.Seq2[view.Group, error] {
	groups := seq.Map(s.list(ctx, t, l), func(image dynamo.Item) (storedGroup, bool, error) {
		g, err := groupOf(t, values, image)
		return g, true, err
	})
	return func(yield func(view.Group, error) bool) {
		for chunk, err := range seq.Chunk(groups, groupChunk) {
			if err == nil {
				err = s.readMembers(ctx, t, values, chunk, l)
			}
			if err != nil {
				yield(view.Group{}, err)
				return
			}
			for i := range chunk {
				if !yield(chunk[i].Group, nil) {
					return
				}
			}
		}
	}
}

// ReadGroups reads the rows, then their members, and then the rows with members again: they are consistent if the
// revision is the same.
func (s *Store) ReadGroups(ctx context.Context, t view.Target, values []view.Value, rows []state.Row) ([]view.Group, error) {
	groups := make([]view.Group, len(rows))
	refs, err := refsOf(t.Table, rows)
	if err != nil {
		return nil, err
	}
	left := make([]int, len(rows))
	for i := range left {
		left[i] = i
	}
	found, err := s.storedGroups(ctx, t, values, refs)
	for tries := 0; err == nil && len(left) > 0; tries++ {
		if tries == maxReads {
			return nil, pipeline.Transient(errs.Errorf("dynamodb: other workers change a group's row in table %s faster than it is read", redact.Safe(t.Name)))
		}
		if err = s.readMembers(ctx, t, values, found, state.Listing{}); err != nil {
			break
		}
		var changing []int
		var again []dynamo.Ref
		var before []storedGroup
		for n, i := range left {
			groups[i] = found[n].Group
			if found[n].hasMembers {
				changing, again, before = append(changing, i), append(again, refs[i]), append(before, found[n])
			}
		}
		var now []storedGroup
		now, err = s.storedGroups(ctx, t, values, again)
		left, found = nil, nil
		for n := range now {
			if now[n].Revision != before[n].Revision {
				left, found = append(left, changing[n]), append(found, now[n])
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return groups, nil
}

// storedGroups reads the rows of groups without their members; the zero Group for a row that is missing or another sink's.
func (s *Store) storedGroups(ctx context.Context, t view.Target, values []view.Value, refs []dynamo.Ref) ([]storedGroup, error) {
	images, err := s.views.Get(ctx, refs)
	if err != nil {
		return nil, tableError(t.Table, err)
	}
	groups := make([]storedGroup, len(images))
	for i, image := range images {
		m, ok := metaOf(image)
		if _, gone := image[expiresAttribute]; ok && m.sameSink(t) && !gone {
			if groups[i], err = groupOf(t, values, maps.Clone(image)); err != nil {
				return nil, err
			}
		}
	}
	return groups, nil
}

// storedGroup is a group with what finds its members.
type storedGroup struct {
	view.Group
	epoch      string
	hasMembers bool // the members are in the state table
}

// groupOf parses the row of a group. What was damaged by hand is left out.
func groupOf(t view.Target, values []view.Value, image dynamo.Item) (storedGroup, error) {
	metaMap := image[metaAttribute].(*types.AttributeValueMemberM).Value // the caller has found it
	g := storedGroup{epoch: dynamo.Text(image, epochAttribute)}
	g.Shares, _ = dynamo.ParseInteger(dynamo.Digits(image, sharesAttribute))
	g.Revision = dynamo.Text(metaMap, metaRevision)
	row, _, err := readerRow(t.Table, image) // it takes the store's attributes out
	if err != nil && !errors.Is(err, errNoVersion) {
		return g, err
	}
	g.Item, g.Birth, g.Version = row.Item, row.Birth, row.Version
	if g.Row, err = state.MakeRow(row.PK, row.SK); err != nil {
		return g, err
	}
	for _, v := range values {
		if _, ok := v.MemberKind(); ok {
			g.hasMembers = g.epoch != ""
			continue
		}
		n, err := numberOf(image[v.Name])
		if err != nil || image[v.Name] == nil {
			continue
		}
		if amount := (state.Increment{Name: v.Name, Amount: n}); v.Of == "count" {
			g.Counts = append(g.Counts, amount)
		} else {
			g.Sums = append(g.Sums, amount)
		}
	}
	return g, nil
}

// readMembers reads the members of groups, several groups at once.
func (s *Store) readMembers(ctx context.Context, t view.Target, values []view.Value, groups []storedGroup, l state.Listing) error {
	failed := make([]error, len(groups))
	s.Each(len(groups), func(i int) {
		g := &groups[i]
		g.Members = nil
		for _, v := range values {
			kind, ok := v.MemberKind()
			if !ok || !g.hasMembers || failed[i] != nil {
				continue
			}
			of := t.State()
			of.Birth = g.Birth
			var ms []state.Member
			ms, failed[i] = s.Members(ctx, of, g.Row, g.epoch, v.Name, kind, l)
			g.Members = append(g.Members, ms...)
		}
	})
	return cmp.Or(failed...)
}
