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
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// List yields the items of a scan for the listing l, in no order. It reads them page by page. An error ends the
// sequence.
func (db *DB) List(ctx context.Context, in *dynamodb.ScanInput, l state.Listing) iter.Seq2[Item, error] {
	if err := l.Check(); err != nil {
		return seq.Of[Item](nil, err)
	}
	s := *in
	if l.Segments > 1 {
		s.Segment, s.TotalSegments = aws.Int32(int32(l.Segment)), aws.Int32(int32(l.Segments))
	}
	s.ConsistentRead = aws.Bool(l.Consistent)
	s.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	return itemsOf(db.scan(ctx, s, l))
}

// ListGuards yields three kinds of entries of a target: the guards with a row, the claims of items, and the owners of
// claimed rows. A guard that cannot be read is the zero Guard. A claim that cannot be read has no Source. Like
// ListContributions, ListGuards reads the whole state table once, so it costs the read units of the whole table.
func (db *DB) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error] {
	guards, claims := string(prefix(t, "guard")), string(prefix(t, "seat"))
	in := &dynamodb.ScanInput{
		TableName: aws.String(db.table),
		FilterExpression: aws.String(
			"(begins_with(pk, :guards) OR begins_with(pk, :claims)) AND attribute_not_exists(expires)"),
		ExpressionAttributeValues: Item{":guards": S(guards), ":claims": S(claims)},
	}
	return seq.Map(db.List(ctx, in, l), func(found Item) (entry state.ItemGuard, keep bool, err error) {
		if strings.HasPrefix(Text(found, attrPK), guards) {
			entry, keep = listedGuard(found, guards)
			return entry, keep, nil
		}
		entry = listedClaim(found)
		entry.Row, err = db.listedRow(ctx, t, found, claims, entry.Item)
		return entry, true, err
	})
}

// listedGuard returns the entry of a guard. prefix is the start of its partition key. If the guard cannot be read, the
// entry has the zero Guard. listedGuard returns false for a guard without a row.
func listedGuard(found Item, prefix string) (entry state.ItemGuard, hasRow bool) {
	entry.Item = recordKey(found, prefix)
	guard, err := parseGuard(found)
	if err != nil {
		return entry, true // the row is unknown
	}
	entry.Guard = guard
	return entry, guard.Row != ""
}

// listedClaim returns the entry of a claim or an owner record, without its row.
func listedClaim(found Item) state.ItemGuard {
	if Text(found, attrSK) == ownerSortKey {
		return state.ItemGuard{Item: item.Key(Text(found, attrOwnerKey)), Owns: true}
	}
	claim, _ := claimOf(found) // the zero Claim if it cannot be read
	return state.ItemGuard{Item: item.Key(Text(found, attrItem)), Claim: &claim}
}

// listedRow returns the row of a claim or an owner record. If the row was cut in the partition key, listedRow takes the
// row from the guard of claimant. If that guard names another row or cannot be read, listedRow returns "".
func (db *DB) listedRow(
	ctx context.Context, t state.Target, found Item, prefix string, claimant item.Key,
) (state.Row, error) {
	pk := Text(found, attrPK)
	row, err := db.findClaimedRow(ctx, t, strings.TrimPrefix(pk, prefix), claimant)
	if _, isDamaged := errors.AsType[*state.DamagedError](err); isDamaged {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	isSameRow := Text(db.OwnerRef(t, row).Key, attrPK) == pk
	if !isSameRow {
		return "", nil
	}
	return row, nil
}

// ListContributions yields those contributions of a target that have shares. A contribution that cannot be read is the
// zero Contribution.
func (db *DB) ListContributions(
	ctx context.Context, t state.Target, l state.Listing,
) iter.Seq2[state.ItemContribution, error] {
	start := string(prefix(t, "contribution"))
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		FilterExpression:          aws.String("begins_with(pk, :start) AND attribute_not_exists(expires)"),
		ExpressionAttributeValues: Item{":start": S(start)},
	}
	return seq.Map(db.List(ctx, in, l), func(found Item) (state.ItemContribution, bool, error) {
		entry := state.ItemContribution{Item: recordKey(found, start)}
		contribution, err := parseContribution(found)
		if err != nil {
			return entry, true, nil //nolint:nilerr // an entry that cannot be read is listed without its content
		}
		entry.Contribution = contribution
		return entry, len(contribution.Shares) > 0, nil
	})
}

// recordKey returns the item's key of found, which is a stored guard or contribution. prefix is the start of the
// partition key of found. recordKey returns "" if an older program cut the key and did not store the whole key.
func recordKey(found Item, prefix string) item.Key {
	if whole := Text(found, attrItem); whole != "" {
		return item.Key(whole)
	}
	end := strings.TrimPrefix(Text(found, attrPK), prefix)
	if strings.Contains(end, "#") { // a whole key contains no #
		return ""
	}
	return item.Key(end)
}

// Members reads the members of one min, max or distinct of a group's row consistently. It returns them sorted by value
// and ID. epoch is the row's epoch, and name is the name of the min, max or distinct. Of l, Members uses only Spend and
// Throttled.
func (db *DB) Members(
	ctx context.Context, t state.Target, row state.Row, epoch, name string, kind state.MemberKind, l state.Listing,
) ([]state.Member, error) {
	in := db.partitionQuery(db.MemberPartition(t, row, name))
	in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
	in.ExpressionAttributeValues[":sk"] = S(valuePrefix(epoch))
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	all, err := seq.Collect(parsed(itemsOf(db.query(ctx, *in, l)), func(found Item) (state.Member, error) {
		return memberOf(found, epoch, name, kind), nil
	}))
	slices.SortFunc(all, func(a, b state.Member) int {
		return cmp.Or(strings.Compare(a.Value, b.Value), strings.Compare(a.ID, b.ID))
	})
	return all, err
}

// memberOf returns the member of a stored item.
func memberOf(found Item, epoch, name string, kind state.MemberKind) state.Member {
	key := Text(found, attrSK)
	_, id, _ := strings.Cut(key, valueEnd)
	return state.Member{
		Name: name, Kind: kind,
		// If the sort key has only the hash of a text, an attribute has the text.
		Value: cmp.Or(Text(found, attrMemberValue), valueIn(key, epoch)),
		ID:    cmp.Or(Text(found, attrMemberID), id),
	}
}
