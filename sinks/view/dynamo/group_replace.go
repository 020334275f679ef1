package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// groupRow is the parsed row of a group.
type groupRow struct {
	values   dynamo.Item // stored values by name
	shares   int64       // number of shares; 0 if there is no row
	revision string      // "" if there is no row
	epoch    string      // text that identifies the members of this row; "" if it never had members
	wide     []string    // names of the values that are beyond the limits for adding in place, sorted
}

// parseStored parses the stored row of a group. The error is permanent if the row belongs to another sink.
func (c *groupWriter) parseStored(g *groupRowWrite) (*groupRow, error) {
	r := &groupRow{values: make(dynamo.Item)}
	if g.stored == nil {
		return r, nil
	}
	meta, ok := metaOf(g.stored)
	if !ok || !meta.belongsTo(c.target) {
		return nil, notOwned(c.target, g.Row, meta)
	}

	var err error
	r.shares, err = dynamo.ParseInteger(dynamo.Digits(g.stored, sharesAttribute))
	if err != nil || meta.revision == "" {
		return nil, c.Damaged("a group's row in table "+c.target.Name, errs.New("it has no shares or no revision"))
	}
	r.revision, r.epoch = meta.revision, dynamo.Text(g.stored, epochAttribute)
	metaMap := g.stored[metaAttribute].(*types.AttributeValueMemberM).Value // metaOf has found it
	if wide, ok := metaMap[metaWide].(*types.AttributeValueMemberSS); ok {
		r.wide = slices.Sorted(slices.Values(wide.Value))
	}
	for name, v := range withoutMeta(maps.Clone(g.stored)) {
		if name != c.target.PK && name != c.target.SK {
			r.values[name] = v
		}
	}
	return r, nil
}

// appendReplace appends to dst the actions that write the row of g and its members. The row was read before. It is
// created, replaced or deleted, on condition that its revision has not changed.
func (c *groupWriter) appendReplace(
	ctx context.Context, dst []dynamo.Action, g *groupRowWrite,
) ([]dynamo.Action, error) {
	r, err := c.parseStored(g)
	if err != nil {
		return nil, err
	}
	shares := r.shares + g.Shares
	switch {
	case shares < 0:
		return nil, pipeline.Fatal(errs.Errorf("dynamodb: a group's row in table %s: %w", redact.Safe(c.target.Name),
			state.ErrNegative))
	case shares > 0:
		return c.appendPut(ctx, dst, g, r, shares)
	case g.stored == nil: // there is no row to delete
		return dst, nil
	}
	members, err := c.MemberDeletes(c.stateTarget, g.Row, r.epoch, g.Members)
	if err != nil {
		return nil, err
	}
	dst = append(dst, dynamo.Delete(g.ref, revisionIs(r.revision)))
	return append(dst, members...), nil
}

// appendPut is appendReplace for a row that has shares after the change. r is the stored row; shares is the new number
// of its shares.
func (c *groupWriter) appendPut(
	ctx context.Context, dst []dynamo.Action, g *groupRowWrite, r *groupRow, shares int64,
) ([]dynamo.Action, error) {
	if err := r.addAmounts(g.GroupChange); err != nil {
		return nil, c.Damaged("a group's row in table "+c.target.Name, err)
	}
	if r.epoch == "" && len(g.Members) > 0 {
		r.epoch = dynamo.NewEpoch()
	}
	members, err := c.MemberUpdates(ctx, c.stateTarget, g.Row, r.epoch, g.Members, r.values)
	if err != nil {
		return nil, err
	}
	dst = append(dst, c.putAction(g, r, shares))
	return append(dst, members...), nil
}

// addAmounts adds the amounts of g to the counts and sums, exactly. It also updates the list of wide values.
func (r *groupRow) addAmounts(g *state.GroupChange) error {
	for _, in := range increments(g) {
		before, err := numberOf(r.values[in.Name])
		if err != nil {
			return err
		}
		after := before.Add(in.Amount)
		r.values[in.Name] = sdkvalue.Of(after.Value())

		i, isListed := slices.BinarySearch(r.wide, in.Name)
		isWide := !isExact(after)
		if isWide && !isListed {
			r.wide = slices.Insert(r.wide, i, in.Name)
		}
		if !isWide && isListed {
			r.wide = slices.Delete(r.wide, i, i+1)
		}
	}
	return nil
}

// numberOf parses a value that state.Number.Value made. An absent value is 0.
func numberOf(av types.AttributeValue) (state.Number, error) {
	switch v := av.(type) {
	case nil:
		return state.Number{}, nil
	case *types.AttributeValueMemberN:
		d, err := decimal.Parse(v.Value)
		return state.NumberOf(d), err
	case *types.AttributeValueMemberS:
		return state.ParseNumber(v.Value)
	}
	return state.Number{}, errs.New("a count or a sum is not a number")
}

// putAction returns the put of the whole row.
func (c *groupWriter) putAction(g *groupRowWrite, r *groupRow, shares int64) dynamo.Action {
	item := c.groupItem(g, r, shares)
	if r.revision == "" {
		return dynamo.Put(c.target.Name, item, rowIsMissing(c.target))
	}
	return dynamo.Put(c.target.Name, item, revisionIs(r.revision))
}

// groupItem returns the whole row as an item.
func (c *groupWriter) groupItem(g *groupRowWrite, r *groupRow, shares int64) dynamo.Item {
	item := r.values
	maps.Copy(item, g.ref.Key)
	item[metaAttribute] = c.groupMeta(g, r.wide)
	item[sharesAttribute] = dynamo.N(strconv.FormatInt(shares, 10))
	if r.epoch != "" {
		item[epochAttribute] = dynamo.S(r.epoch)
	}
	return item
}

// rowIsMissing returns the condition that there is no row.
func rowIsMissing(t view.Target) dynamo.Condition {
	return dynamo.Condition{Text: "attribute_not_exists(#pk)", Names: map[string]string{"#pk": t.PK}, ReturnStored: true}
}

// revisionIs returns the condition that a row was not written since it was read.
func revisionIs(revision string) dynamo.Condition {
	return dynamo.Condition{
		Text:   "#tw.#rev = :rev",
		Names:  map[string]string{"#tw": metaAttribute, "#rev": metaRevision},
		Values: dynamo.Item{":rev": dynamo.S(revision)}, ReturnStored: true,
	}
}
