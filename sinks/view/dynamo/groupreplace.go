package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// groupRow is a group's row, taken apart.
type groupRow struct {
	values   dynamo.Item // by name, as they stand in the row
	shares   int64       // more than 0, or there is no row
	revision string      // "" where there is no row
	epoch    string      // names the members that are the row's; "" where it never had one
	wide     []string    // values that nothing is added to, sorted
}

// groupRow reads what stands in a row. The error is permanent where the row is another's.
func (c *counting) groupRow(g *groupWrite) (*groupRow, error) {
	r := &groupRow{values: make(dynamo.Item)}
	if g.row == nil {
		return r, nil
	}
	have, ok := markOf(g.row)
	if !ok || !have.of(c.target) {
		return nil, refused(c.target, g.Row, have)
	}
	in := g.row[markAttribute].(*types.AttributeValueMemberM).Value // markOf found it
	r.revision, r.epoch = dynamo.Text(in, markRevision), dynamo.Text(g.row, epochAttribute)
	if wide, ok := in[markWide].(*types.AttributeValueMemberSS); ok {
		r.wide = slices.Sorted(slices.Values(wide.Value))
	}
	var err error
	if r.shares, err = dynamo.ParseInteger(dynamo.Digits(g.row, sharesAttribute)); err != nil || r.revision == "" {
		return nil, c.Damaged("a group's row in table "+c.target.Name, errs.New("it has no shares or no revision"))
	}
	for name, v := range unmarked(maps.Clone(g.row)) {
		if name != c.target.PK && name != c.target.SK {
			r.values[name] = v
		}
	}
	return r, nil
}

// replace appends what makes a row that was read what it is with the change: the row
// comes, is another, or goes, on condition that nobody wrote it since; and its members.
func (c *counting) replace(ctx context.Context, dst []dynamo.Action, g *groupWrite) ([]dynamo.Action, error) {
	r, err := c.groupRow(g)
	if err != nil {
		return nil, err
	}
	shares := r.shares + g.Shares
	switch {
	case shares < 0:
		return nil, c.Damaged("a group's row in table "+c.target.Name, errs.New("more left it than came"))
	case shares == 0 && g.row == nil:
		return dst, nil
	case shares == 0:
		gone, err := c.DeleteMembers(c.of, g.Row, r.epoch, g.Members)
		return append(append(dst, dynamo.Delete(g.ref, unwritten(r.revision))), gone...), err
	}
	if err := r.reckon(g.GroupChange); err != nil {
		return nil, c.Damaged("a group's row in table "+c.target.Name, err)
	}
	if r.epoch == "" && len(g.Members) > 0 {
		r.epoch = dynamo.NewEpoch()
	}
	members, err := c.UpdateMembers(ctx, c.of, g.Row, r.epoch, g.Members, r.values)
	if err != nil {
		return nil, err
	}
	return append(append(dst, c.put(g, r, shares)), members...), nil
}

// reckon adds to the counts and sums, exactly, and notes which of them are wide.
func (r *groupRow) reckon(g *state.GroupChange) error {
	for _, adds := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range adds {
			was, err := numberOf(r.values[a.Name])
			if err != nil {
				return err
			}
			now := was.Add(a.Amount)
			r.values[a.Name] = sdkvalue.Of(now.Value())
			i, is := slices.BinarySearch(r.wide, a.Name)
			switch {
			case narrow(now) && is:
				r.wide = slices.Delete(r.wide, i, i+1)
			case !narrow(now) && !is:
				r.wide = slices.Insert(r.wide, i, a.Name)
			}
		}
	}
	return nil
}

// numberOf reads what state.Number.Value made; an absent value is 0.
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
	return state.Number{}, errs.New("a count or a sum is no number")
}

// put is the action that writes the whole row.
func (c *counting) put(g *groupWrite, r *groupRow, shares int64) dynamo.Action {
	item := r.values
	maps.Copy(item, g.ref.Key)
	item[markAttribute] = c.groupMark(g, r.wide)
	item[sharesAttribute] = dynamo.N(strconv.FormatInt(shares, 10))
	if r.epoch != "" {
		item[epochAttribute] = dynamo.S(r.epoch)
	}
	if r.revision == "" {
		none := dynamo.Condition{Text: "attribute_not_exists(#pk)", Names: map[string]string{"#pk": c.target.PK}, Old: true}
		return dynamo.Put(c.target.Name, item, none)
	}
	return dynamo.Put(c.target.Name, item, unwritten(r.revision))
}

// unwritten is the condition that nobody wrote a row since it was read.
func unwritten(revision string) dynamo.Condition {
	return dynamo.Condition{
		Text:   "#tw.#rev = :rev",
		Names:  map[string]string{"#tw": markAttribute, "#rev": markRevision},
		Values: dynamo.Item{":rev": dynamo.S(revision)}, Old: true,
	}
}
