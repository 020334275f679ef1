package dynamo

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// List yields the items of a scan in no order, for a listing, page by page. A pulled error ends the sequence.
func (db *DB) List(ctx context.Context, in *dynamodb.ScanInput, l state.Listing) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := l.Check(); err != nil {
			yield(nil, err)
			return
		}
		s := *in
		if l.Segments > 1 {
			s.Segment, s.TotalSegments = aws.Int32(int32(l.Segment)), aws.Int32(int32(l.Segments))
		}
		s.ConsistentRead = aws.Bool(l.Consistent)
		s.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
		for page, err := range db.scan(ctx, s, l.Throttled) {
			if err == nil {
				err = spend(ctx, l, page.ConsumedCapacity)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// spend reports the units of a page, and waits.
func spend(ctx context.Context, l state.Listing, used *types.ConsumedCapacity) error {
	if l.Spend == nil || used == nil || used.CapacityUnits == nil {
		return nil
	}
	return l.Spend(ctx, *used.CapacityUnits)
}

// Listed is what the state remembers of an item. Item is "" if its key was cut.
type Listed[T any] struct {
	Item  item.Key
	Value T
}

// ListGuards yields the guards of a target that have a row, the claims of its items, and its claimed rows. A guard that
// cannot be read is the zero Guard, and such a claim has no Source. Like ListContributions it reads the whole state table
// once, so it costs the read units of the table.
func (db *DB) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[GuardOrClaim, error] {
	guards, seats := string(prefix(t, "guard")), string(prefix(t, "seat"))
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		FilterExpression:          aws.String("(begins_with(pk, :guards) OR begins_with(pk, :seats)) AND attribute_not_exists(expires)"),
		ExpressionAttributeValues: Item{":guards": S(guards), ":seats": S(seats)},
	}
	return func(yield func(GuardOrClaim, error) bool) {
		for found, err := range db.List(ctx, in, l) {
			var v GuardOrClaim
			switch {
			case err != nil:
			case strings.HasPrefix(Text(found, attrPK), guards):
				v.Guard = &Listed[state.Guard]{Item: rememberedKey(found, guards)}
				if g, err := parseGuard(found); err == nil {
					if v.Guard.Value = g; g.Row == "" {
						continue
					}
				}
			case Text(found, attrSK) == seatKey:
				v.Owner = &state.RowClaim{Item: item.Key(Text(found, attrHolder))}
				v.Owner.Row, err = db.listedRow(ctx, t, found, seats, v.Owner.Item)
			default:
				v.Claim, err = db.listedClaim(ctx, t, found, seats)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// GuardOrClaim is the guard of an item, or a claim of one, or a claimed row. The others are nil.
type GuardOrClaim struct {
	Guard *Listed[state.Guard]
	Claim *state.RowClaim
	Owner *state.RowClaim // the item that has a row; without its claim
}

// listedClaim returns a claim.
func (db *DB) listedClaim(ctx context.Context, t state.Target, found Item, prefix string) (*state.RowClaim, error) {
	c := &state.RowClaim{Item: item.Key(Text(found, attrItem))}
	if claim, err := claimOf(found); err == nil {
		c.Claim = claim
	}
	var err error
	c.Row, err = db.listedRow(ctx, t, found, prefix, c.Item)
	return c, err
}

// listedRow returns the row of a claim or a seat. If the partition key was too long for the row, the guard of the item may
// have it; else the row is "".
func (db *DB) listedRow(ctx context.Context, t state.Target, found Item, prefix string, of item.Key) (state.Row, error) {
	pk := Text(found, attrPK)
	row, err := db.seatRow(ctx, t, strings.TrimPrefix(pk, prefix), of)
	if _, damaged := errors.AsType[*state.DamagedError](err); damaged {
		return "", nil
	}
	if err != nil || Text(db.SeatRef(t, row).Key, attrPK) != pk {
		return "", err
	}
	return row, nil
}

// ListContributions yields the contributions of a target that have shares. One that cannot be read is the zero
// Contribution.
func (db *DB) ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[Listed[state.Contribution], error] {
	return listRemembered(ctx, db, t, "contribution", l, parseContribution, func(c state.Contribution) bool { return len(c.Shares) == 0 })
}

// listRemembered yields the guards or contributions of a target that are not empty.
func listRemembered[T any](
	ctx context.Context, db *DB, t state.Target, kind string, l state.Listing, parse func(Item) (T, error), empty func(T) bool,
) iter.Seq2[Listed[T], error] {
	start := string(prefix(t, kind))
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		FilterExpression:          aws.String("begins_with(pk, :start) AND attribute_not_exists(expires)"),
		ExpressionAttributeValues: Item{":start": S(start)},
	}
	return func(yield func(Listed[T], error) bool) {
		for found, err := range db.List(ctx, in, l) {
			if err != nil {
				yield(Listed[T]{}, err)
				return
			}
			v := Listed[T]{Item: rememberedKey(found, start)}
			if parsed, err := parse(found); err == nil {
				v.Value = parsed
				if empty(parsed) {
					continue
				}
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// rememberedKey returns the key of the item whose guard or contribution is stored under a prefix; "" if the key was
// cut by a version that did not store it as a whole.
func rememberedKey(found Item, prefix string) item.Key {
	if whole := Text(found, attrItem); whole != "" {
		return item.Key(whole)
	}
	end := strings.TrimPrefix(Text(found, attrPK), prefix)
	if strings.Contains(end, "#") { // as in no key
		return ""
	}
	return item.Key(end)
}

// Members reads the members of one value of a group's row, consistently, in order. Units are spent as in a listing.
func (db *DB) Members(ctx context.Context, t state.Target, row state.Row, epoch, name string, kind state.MemberKind, l state.Listing) ([]state.Member, error) {
	in := db.partitionQuery(db.MemberPartition(t, row, name))
	in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
	in.ExpressionAttributeValues[":sk"] = S(epoch + "#")
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	var all []state.Member
	for page, err := range db.query(ctx, *in, l.Throttled) {
		if err == nil {
			err = spend(ctx, l, page.ConsumedCapacity)
		}
		if err != nil {
			return nil, err
		}
		for _, found := range page.Items {
			all = append(all, memberOf(found, epoch, name, kind))
		}
	}
	slices.SortFunc(all, func(a, b state.Member) int {
		return cmp.Or(strings.Compare(a.Value, b.Value), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

func memberOf(found Item, epoch, name string, kind state.MemberKind) state.Member {
	key := Text(found, attrSK)
	_, id, _ := strings.Cut(key, "\x00")
	return state.Member{
		Name: name, Kind: kind,
		Value: cmp.Or(Text(found, attrMemberValue), valueIn(key, epoch)), ID: cmp.Or(Text(found, attrMemberID), id),
	}
}
