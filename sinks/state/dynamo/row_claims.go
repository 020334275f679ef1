package dynamo

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// Attributes of claims and of owner records. A claim is an item's request for a row. A row with claims has one owner
// record. The owner record has the revision of the claims, and the key of the item that owns the row. Stored keys call
// this record a seat, and its owner the holder.
const (
	attrRevision = "revision"
	attrOwnerKey = "holder" // key of the owner; "" if no item owns the row
	attrTime     = "time"   // N, Unix nanoseconds
	attrNames    = "names"  // L of S: names of the row's attributes, in order
	// attrValue begins the names v0, v1, ... of the attributes with the values. The values are not in a list or map,
	// because a value may already use all levels of nesting that DynamoDB allows.
	attrValue = "v"
)

// maxClaimReads is how often the claims on a row are read again if they change during the read.
const maxClaimReads = 8

// RowClaims reads the owner records of rows, 100 in a request. It then reads the claims on each row with an owner
// record, in one query for each row.
func (db *DB) RowClaims(ctx context.Context, t state.Target, rows []state.Row) ([]state.RowClaims, error) {
	refs := make([]Ref, len(rows))
	for i, row := range rows {
		refs[i] = db.OwnerRef(t, row)
	}
	owners, err := db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}

	all, failed := make([]state.RowClaims, len(rows)), make([]error, len(rows))
	db.Each(len(rows), func(i int) { all[i], failed[i] = db.readClaims(ctx, t, rows[i], refs[i], owners[i]) })
	return all, errors.Join(failed...)
}

// readClaims reads the claims on a row. owner is the owner record that was read before, or nil if the row has none. One
// query reads the claims and then the owner record again. If its revision is still that of owner, the query has seen
// all claims of that revision.
func (db *DB) readClaims(
	ctx context.Context, t state.Target, row state.Row, ref Ref, owner Item,
) (state.RowClaims, error) {
	for range maxClaimReads {
		if owner == nil { // a row without an owner record has no claims
			return state.RowClaims{Row: row}, nil
		}

		claims, unchanged, err := db.queryClaims(ctx, t, row, ref, owner)
		if err != nil || unchanged {
			return claims, err
		}

		if owner, err = db.getOne(ctx, ref); err != nil {
			return claims, err
		}
	}
	return state.RowClaims{}, pipeline.Transient(
		viewErrs.Errorf("dynamodb: the claims on a row of the view %s change faster than they are read", redact.Safe(t.View)))
}

// queryClaims reads the claims on a row, and then the owner record. The owner record sorts before the claims, and the
// query is in reverse. unchanged is false if the revision of the owner record is no longer that of ownerRecord.
func (db *DB) queryClaims(
	ctx context.Context, t state.Target, row state.Row, ref Ref, ownerRecord Item,
) (claims state.RowClaims, unchanged bool, err error) {
	claims = state.RowClaims{Row: row, Revision: Text(ownerRecord, attrRevision)}
	in := db.partitionQuery(Text(ref.Key, attrPK))
	in.ScanIndexForward = aws.Bool(false)
	for found, err := range db.Query(ctx, in) {
		if err != nil {
			return claims, false, err
		}
		if isOwnerRecord(found) {
			unchanged = Text(found, attrRevision) == claims.Revision
			continue
		}
		c, err := claimOf(found)
		if err != nil {
			return claims, false, db.Damaged("a claim on a row of the view "+t.View, err)
		}
		claims.Waiting = append(claims.Waiting, c)
	}

	if owner := item.Key(Text(ownerRecord, attrOwnerKey)); owner != "" {
		moveToOwner(&claims, owner)
	}
	return claims, unchanged, nil
}

// isOwnerRecord reports whether an item in the partition of a row is the row's owner record. All others are claims.
func isOwnerRecord(found Item) bool { return Text(found, attrSK) == ownerSortKey }

// moveToOwner moves the claim whose Source is owner from Waiting to Owner. If there is no such claim, it does nothing.
// Then the row is damaged, unless the owner record has changed meanwhile.
func moveToOwner(claims *state.RowClaims, owner item.Key) {
	i := slices.IndexFunc(claims.Waiting, func(c state.Claim) bool { return c.Source == owner })
	if i >= 0 {
		claims.Owner = claims.Waiting[i]
		claims.Waiting = slices.Delete(claims.Waiting, i, i+1)
	}
}

// ContestedRows yields the rows of a target on which claims wait, in no order. It scans the whole state table once, so
// it costs the read units of the whole table, however few rows it yields. If the claims on a row change during the
// scan, the row may be missing or outdated. An error ends the sequence.
func (db *DB) ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error] {
	start := string(prefix(t, "seat"))
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		ProjectionExpression:      aws.String("pk, sk, #item, #holder"),
		FilterExpression:          aws.String("begins_with(pk, :claims)"),
		ExpressionAttributeNames:  map[string]string{"#item": attrItem, "#holder": attrOwnerKey},
		ExpressionAttributeValues: Item{":claims": S(start)},
	}
	// A scan returns the items of a partition together, sorted by their sort keys.
	samePartition := func(a, b Item) bool { return Text(a, attrPK) == Text(b, attrPK) }
	partitions := seq.ChunkBy(db.Scan(ctx, in), samePartition)
	return seq.Map(partitions, func(items []Item) (row state.ContestedRow, keep bool, err error) {
		row = contestedRow(items)
		if len(row.Waiting) == 0 {
			return row, false, nil
		}
		end := strings.TrimPrefix(Text(items[0], attrPK), start)
		row.Row, err = db.findClaimedRow(ctx, t, end, row.Waiting[0])
		return row, true, err
	})
}

// contestedRow returns the owner and the waiting claims of a row, without the row itself. items are the row's owner
// record and then its claims.
func contestedRow(items []Item) (row state.ContestedRow) {
	for _, found := range items {
		if isOwnerRecord(found) {
			row.Owner = item.Key(Text(found, attrOwnerKey))
			continue
		}
		if source := item.Key(Text(found, attrItem)); source != row.Owner {
			row.Waiting = append(row.Waiting, source)
		}
	}
	slices.Sort(row.Waiting)
	return row
}

// findClaimedRow returns the row of an owner record or claim. end is the end of the partition key. It is the row,
// unless the row was too long and was cut. claimant is an item that claims the row. For a cut row, findClaimedRow takes
// the row from the guard of claimant.
func (db *DB) findClaimedRow(ctx context.Context, t state.Target, end string, claimant item.Key) (state.Row, error) {
	if !strings.Contains(end, "#") { // a row contains no #, so it was not cut
		return state.Row(end), nil
	}
	guards, err := db.Guards(ctx, t, []item.Key{claimant})
	if err != nil {
		return "", err
	}
	return guards[0].Row, nil
}

// claimItem returns a claim as an item of the state table.
func claimItem(key Item, c *state.Claim) Item {
	names := make([]types.AttributeValue, len(c.Attributes))
	image := withAttributes(key, Item{
		attrItem: S(string(c.Source)), attrVersion: S(c.Version.String()), attrTime: nanoseconds(c.Time),
		attrNames: &types.AttributeValueMemberL{Value: names},
	})
	for i, a := range c.Attributes {
		names[i] = S(a.Name)
		image[attrValue+strconv.Itoa(i)] = sdkvalue.Of(a.Value)
	}
	return image
}

// claimOf returns the claim of a stored item.
func claimOf(image Item) (state.Claim, error) {
	c := state.Claim{Source: item.Key(Text(image, attrItem))}

	ns, err := strconv.ParseInt(Digits(image, attrTime), 10, 64)
	if err != nil {
		return state.Claim{}, viewErrs.New("it has no time")
	}
	c.Time = time.Unix(0, ns).UTC()
	if c.Version, err = record.ParseVersion(Text(image, attrVersion)); err != nil {
		return state.Claim{}, err
	}

	if c.Attributes, err = claimedColumns(image); err != nil {
		return state.Claim{}, err
	}
	return c, nil
}

// claimedColumns returns the row's attributes in the claim of a stored item.
func claimedColumns(image Item) (columns []state.Column, err error) {
	names, ok := image[attrNames].(*types.AttributeValueMemberL)
	if !ok {
		return nil, viewErrs.New("it has no attributes")
	}
	for i, name := range names.Value {
		av, ok := image[attrValue+strconv.Itoa(i)]
		if !ok {
			return nil, viewErrs.New("an attribute has no value")
		}
		var column state.Column
		if column.Value, err = sdkvalue.Value(av); err != nil {
			return nil, err
		}
		if text, ok := name.(*types.AttributeValueMemberS); ok {
			column.Name = text.Value
		}
		columns = append(columns, column)
	}
	return columns, nil
}
