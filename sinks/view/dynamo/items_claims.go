package dynamo

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Attributes of claims in the state table.
const (
	claimSource  = "item"
	claimVersion = "version"
	claimTime    = "time"  // N, Unix nanoseconds
	claimNames   = "names" // L of S: the names of the row's attributes, in order
	claimValue   = "v"     // followed by the index of an attribute: its value. It is at the top level, since a row can use all levels of nesting that DynamoDB allows.
)

// maxUnsteady bounds the reads of a row's claims if they change while they are read.
const maxUnsteady = 8

// claims fills in the claims on seat.Row. item is the stored seat, which was read before. One query reads the claims
// and then the stored seat again: if both seats have one revision, the claims belong to it. A write that is
// conditional on that revision cannot miss a claim.
func (s *Store) claims(ctx context.Context, t view.Target, seat *view.RowClaims, item dynamo.Item) error {
	ref := s.SeatRef(targetOf(t), seat.Row)
	for range maxUnsteady {
		steady, err := s.queryClaims(ctx, t, ref, item, seat)
		if err != nil || steady {
			return err
		}
		again, err := s.Get(ctx, []dynamo.Ref{ref})
		if err != nil {
			return err
		}
		if item = again[0]; item == nil { // there is no claim any more
			seats := []view.RowClaims{{Row: seat.Row}}
			err := s.owners(ctx, t, seats, []int{0})
			*seat = seats[0]
			return err
		}
	}
	return pipeline.Transient(errs.Errorf("dynamodb: the claims on a row of the view %s change faster than they are read", pipeline.Safe(t.View)))
}

// queryClaims reads the claims on a row, and the stored seat after them. steady is false if the stored seat is no
// longer item.
func (s *Store) queryClaims(ctx context.Context, t view.Target, ref dynamo.Ref, item dynamo.Item, seat *view.RowClaims) (steady bool, err error) {
	*seat = view.RowClaims{Row: seat.Row, Revision: dynamo.Text(item, seatRevision)}
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(ref.Table),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: dynamo.Item{":pk": ref.Key["pk"]},
		ScanIndexForward:          aws.Bool(false),
	}
	for found, err := range s.Query(ctx, in) {
		if err != nil {
			return false, err
		}
		if revision, is := found[seatRevision]; is {
			steady = textOf(revision) == seat.Revision
			continue
		}
		c, err := claimOf(found)
		if err != nil {
			return false, s.Damaged("a claim on a row of the view "+t.View, err)
		}
		seat.Waiting = append(seat.Waiting, c)
	}
	holder := pipeline.Key(dynamo.Text(item, seatHolder))
	if holder == "" {
		return steady, nil
	}
	i := slices.IndexFunc(seat.Waiting, func(c view.Claim) bool { return c.Source == holder })
	if i < 0 {
		return false, nil
	}
	seat.Owner = seat.Waiting[i]
	seat.Waiting = slices.Delete(seat.Waiting, i, i+1)
	return steady, nil
}

// claimItem returns a claim as an item of the state table.
func claimItem(key dynamo.Item, c *view.Claim) dynamo.Item {
	it := make(dynamo.Item, len(key)+4+len(c.Attributes))
	for name, v := range key {
		it[name] = v
	}
	names := make([]types.AttributeValue, len(c.Attributes))
	for i, a := range c.Attributes {
		names[i] = str(a.Name)
		it[claimValue+strconv.Itoa(i)] = sdkvalue.Of(a.Value)
	}
	it[claimSource] = str(string(c.Source))
	it[claimVersion] = str(c.Version.String())
	it[claimTime] = num(strconv.FormatInt(c.Time.UnixNano(), 10))
	it[claimNames] = &types.AttributeValueMemberL{Value: names}
	return it
}

func claimOf(item dynamo.Item) (view.Claim, error) {
	c := view.Claim{Source: pipeline.Key(dynamo.Text(item, claimSource))}
	ns, err := strconv.ParseInt(dynamo.Digits(item, claimTime), 10, 64)
	if err != nil {
		return c, errs.New("it has no time")
	}
	c.Time = time.Unix(0, ns).UTC()
	if c.Version, err = pipeline.ParseVersion(dynamo.Text(item, claimVersion)); err != nil {
		return c, err
	}
	names, ok := item[claimNames].(*types.AttributeValueMemberL)
	if !ok {
		return c, errs.New("it has no attributes")
	}
	for i, name := range names.Value {
		av, ok := item[claimValue+strconv.Itoa(i)]
		if !ok {
			return c, errs.New("an attribute has no value")
		}
		v, err := sdkvalue.Value(av)
		if err != nil {
			return c, err
		}
		c.Attributes = append(c.Attributes, view.Column{Name: textOf(name), Value: v})
	}
	return c, nil
}
