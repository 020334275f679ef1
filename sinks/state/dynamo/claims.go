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
	"github.com/tablewake/tablewake/sinks/state"
)

// Attributes of seats and claims. A seat is the item with the revision and the owner of a row's claims.
const (
	attrRevision = "revision"
	attrHolder   = "holder" // key of the owner; "" if there is none
	attrTime     = "time"   // N, Unix nanoseconds
	attrNames    = "names"  // L of S: the names of the row's attributes, in order
	// The value of the attribute with index n is at v<n>. It is at the top level, since a row can use all
	// levels of nesting that DynamoDB allows.
	attrValue = "v"
)

// maxClaimReads bounds the reads of a row's claims if they change while they are read.
const maxClaimReads = 8

// RowClaims reads the seats of rows, 100 in a request, and the claims on each row that has any, a query each.
func (db *DB) RowClaims(ctx context.Context, t state.Target, rows []state.Row) ([]state.RowClaims, error) {
	refs := make([]Ref, len(rows))
	for i, r := range rows {
		refs[i] = db.SeatRef(t, r)
	}
	seats, err := db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	all, failed := make([]state.RowClaims, len(rows)), make([]error, len(rows))
	db.Each(len(rows), func(i int) { all[i], failed[i] = db.claims(ctx, t, rows[i], refs[i], seats[i]) })
	return all, errors.Join(failed...)
}

// claims reads the claims on a row. seat is the stored seat as it was read before. One query reads the claims
// and then the stored seat again. If both seats have one revision, the claims belong to it, and a write that is
// conditional on the revision misses no claim.
func (db *DB) claims(ctx context.Context, t state.Target, row state.Row, ref Ref, seat Item) (state.RowClaims, error) {
	for range maxClaimReads {
		if seat == nil { // there is no claim
			return state.RowClaims{Row: row}, nil
		}
		claims, steady, err := db.queryClaims(ctx, t, row, ref, seat)
		if err != nil || steady {
			return claims, err
		}
		if seat, err = db.getOne(ctx, ref); err != nil {
			return claims, err
		}
	}
	return state.RowClaims{}, pipeline.Transient(viewErrs.Errorf("dynamodb: the claims on a row of the view %s change faster than they are read", redact.Safe(t.View)))
}

// queryClaims reads the claims on a row, and the stored seat after them. steady is false if the stored seat is no
// longer seat.
func (db *DB) queryClaims(ctx context.Context, t state.Target, row state.Row, ref Ref, seat Item) (claims state.RowClaims, steady bool, err error) {
	claims = state.RowClaims{Row: row, Revision: Text(seat, attrRevision)}
	in := db.partitionQuery(Text(ref.Key, attrPK))
	in.ScanIndexForward = aws.Bool(false)
	for found, err := range db.Query(ctx, in) {
		if err != nil {
			return claims, false, err
		}
		if _, is := found[attrRevision]; is {
			steady = Text(found, attrRevision) == claims.Revision
			continue
		}
		c, err := claimOf(found)
		if err != nil {
			return claims, false, db.Damaged("a claim on a row of the view "+t.View, err)
		}
		claims.Waiting = append(claims.Waiting, c)
	}
	owner := item.Key(Text(seat, attrHolder))
	if owner == "" {
		return claims, steady, nil
	}
	i := slices.IndexFunc(claims.Waiting, func(c state.Claim) bool { return c.Source == owner })
	if i < 0 { // damage, if the seat is steady
		return claims, steady, nil
	}
	claims.Owner = claims.Waiting[i]
	claims.Waiting = slices.Delete(claims.Waiting, i, i+1)
	return claims, steady, nil
}

// ContestedRows yields the rows of a target on which claims wait, in no order. It scans the whole state table once,
// so it costs the read units of the table, for any number of such rows. A row whose claims change meanwhile may be
// missing, or be as it was. A pulled error ends the sequence.
func (db *DB) ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error] {
	start := string(prefix(t, "seat"))
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		ProjectionExpression:      aws.String("pk, sk, #item, #holder"),
		FilterExpression:          aws.String("begins_with(pk, :seats)"),
		ExpressionAttributeNames:  map[string]string{"#item": attrItem, "#holder": attrHolder},
		ExpressionAttributeValues: Item{":seats": S(start)},
	}
	return func(yield func(state.ContestedRow, error) bool) {
		var pk string // of the row whose claims are read
		var row state.ContestedRow
		end := func() bool { // false: stop
			if len(row.Waiting) == 0 {
				return true
			}
			slices.Sort(row.Waiting)
			var err error
			row.Row, err = db.seatRow(ctx, t, strings.TrimPrefix(pk, start), row.Waiting[0])
			return yield(row, err) && err == nil
		}
		// A scan returns the items of a partition together, in the order of their sort keys: the seat first.
		for found, err := range db.Scan(ctx, in) {
			if err != nil {
				yield(state.ContestedRow{}, err)
				return
			}
			if key := Text(found, attrPK); key != pk {
				if !end() {
					return
				}
				pk, row = key, state.ContestedRow{}
			}
			source := item.Key(Text(found, attrItem))
			switch {
			case Text(found, attrSK) == seatKey:
				row.Owner = item.Key(Text(found, attrHolder))
			case source != row.Owner:
				row.Waiting = append(row.Waiting, source)
			}
		}
		end()
	}
}

// seatRow returns the row of a seat from the end of its partition key. If the key was too long for the row, the guard
// of an item that claims the row has it.
func (db *DB) seatRow(ctx context.Context, t state.Target, end string, claimant item.Key) (state.Row, error) {
	if !strings.Contains(end, "#") { // as in no row
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
	it := with(key, Item{
		attrItem: S(string(c.Source)), attrVersion: S(c.Version.String()), attrTime: nanoseconds(c.Time),
		attrNames: &types.AttributeValueMemberL{Value: names},
	})
	for i, a := range c.Attributes {
		names[i] = S(a.Name)
		it[attrValue+strconv.Itoa(i)] = sdkvalue.Of(a.Value)
	}
	return it
}

func claimOf(image Item) (state.Claim, error) {
	c := state.Claim{Source: item.Key(Text(image, attrItem))}
	ns, err := strconv.ParseInt(Digits(image, attrTime), 10, 64)
	if err != nil {
		return c, viewErrs.New("it has no time")
	}
	c.Time = time.Unix(0, ns).UTC()
	if c.Version, err = record.ParseVersion(Text(image, attrVersion)); err != nil {
		return c, err
	}
	names, ok := image[attrNames].(*types.AttributeValueMemberL)
	if !ok {
		return c, viewErrs.New("it has no attributes")
	}
	for i, name := range names.Value {
		av, ok := image[attrValue+strconv.Itoa(i)]
		if !ok {
			return c, viewErrs.New("an attribute has no value")
		}
		v, err := sdkvalue.Value(av)
		if err != nil {
			return c, err
		}
		text, _ := name.(*types.AttributeValueMemberS)
		if text == nil {
			text = new(types.AttributeValueMemberS)
		}
		c.Attributes = append(c.Attributes, state.Column{Name: text.Value, Value: v})
	}
	return c, nil
}
