package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Attributes of the state table. Its key and its TTL attribute are those of all its rows.
const (
	attrPK      = "pk"
	attrSK      = "sk"
	attrExpires = "expires" // Unix seconds

	attrName    = "name"
	attrBeat    = "beat"
	attrLeaving = "leaving"
	attrLeases  = "leases"
	attrLoad    = "load"
	attrCalls   = "calls"
	attrReading = "pending"
	attrBehind  = "behind"  // by shard: Unix seconds; NULL where nothing was read
	attrStopped = "stopped" // by shard: why
	attrFailing = "failing" // by shard: since when its reads fail, in Unix seconds, and the class of the error
	attrAtEnd   = "at_end"  // a beat; absent where there is none

	attrCount = "count"
)

// maxStopped bounds a member's row: an item is at most 400 KB. Of more shards the first are told.
const (
	maxStopped = 1000
	maxWhy     = 200 // bytes
)

// begunPrefix is that of the sort keys of the streams that were begun. They stand among
// the members, so that one query reads both; no worker's name has a # when it is escaped.
const begunPrefix = "begun#"

// Members reads the members alone, which is possible where the lease table is gone.
func (t *Table) Members(ctx context.Context) ([]leases.Member, error) {
	var s leases.Snapshot
	if err := t.members(ctx, &s); err != nil {
		return nil, err
	}
	s.Sort()
	return s.Members, nil
}

// members reads the members of this pipeline, and the streams that it has begun.
func (t *Table) members(ctx context.Context, s *leases.Snapshot) error {
	in := &dynamodb.QueryInput{
		TableName: &t.o.State, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(attrPK + " = :pk"),
		ExpressionAttributeValues: Item{":pk": text(t.fleet())},
	}
	for {
		out, err := send(ctx, t, t.o.Client.Query, in, patient)
		if err != nil {
			return t.failed(ctx, "Query", t.o.State, err)
		}
		for _, row := range out.Items {
			r := reader{row: row}
			if name, ok := strings.CutPrefix(r.text(attrSK), begunPrefix); ok {
				stream, err := item.Unescape(name)
				if err != nil {
					s.Broken = append(s.Broken, leases.Broken{
						Shard: begunPrefix + name, Why: fmt.Sprintf("a row of table %s says that a stream was begun, and its sort key is damaged: %v", t.o.State, err),
					})
					continue
				}
				s.Begun = append(s.Begun, stream)
				continue
			}
			s.Members = append(s.Members, decodeMember(row))
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// Heartbeat implements [leases.Table].
func (t *Table) Heartbeat(ctx context.Context, m leases.Member) error {
	key, err := t.member(m.Worker)
	if err != nil {
		return err
	}
	row := encodeMember(m)
	maps.Copy(row, key)
	row[attrExpires] = number(time.Now().Add(t.o.Keep).Unix())
	_, err = send(ctx, t, t.o.Client.PutItem, &dynamodb.PutItemInput{TableName: &t.o.State, Item: row}, once)
	return t.failed(ctx, "PutItem", t.o.State, err)
}

// Leave implements [leases.Table].
func (t *Table) Leave(ctx context.Context, worker string) error {
	key, err := t.member(worker)
	if err != nil {
		return err
	}
	_, err = send(ctx, t, t.o.Client.DeleteItem, &dynamodb.DeleteItemInput{TableName: &t.o.State, Key: key}, once)
	return t.failed(ctx, "DeleteItem", t.o.State, err)
}

// Begin implements [leases.Table]. The row has no TTL: it is kept for as long as the pipeline is.
func (t *Table) Begin(ctx context.Context, stream string) error {
	if stream == "" {
		return pipeline.Permanent(errs.New("leases: a stream without a name is begun"))
	}
	row := Item{attrPK: text(t.fleet()), attrSK: text(begunPrefix + escaped(stream))}
	_, err := send(ctx, t, t.o.Client.PutItem, &dynamodb.PutItemInput{TableName: &t.o.State, Item: row}, once)
	return t.failed(ctx, "PutItem", t.o.State, err)
}

// Reserve implements [leases.Table].
func (t *Table) Reserve(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	if quota == "" {
		return 0, false, pipeline.Permanent(errs.New("leases: a quota without a name"))
	}
	key := Item{attrPK: text(sharedQuotas), attrSK: text(escaped(quota))}
	e := new(expression)
	name := e.name(attrCount)
	condition := name + " = " + e.value(number(seen))
	if seen == 0 {
		condition = "(attribute_not_exists(" + name + ") OR " + condition + ")"
	}
	e.put(attrCount, number(seen+1))
	e.put(attrExpires, number(time.Now().Add(t.o.Keep).Unix()))
	in := &dynamodb.UpdateItemInput{
		TableName: &t.o.State, Key: key,
		UpdateExpression:                    aws.String(e.changes()),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err = send(ctx, t, t.o.Client.UpdateItem, in, once)
	row, refused, err := t.refusal(ctx, "UpdateItem", t.o.State, key, err)
	switch {
	case err != nil:
		return 0, false, err
	case !refused:
		return seen + 1, true, nil
	}
	r := reader{row: row}
	return r.integer(attrCount), false, nil
}

// Partition keys of what several pipelines share. No pipeline's rows begin so: all others begin with its name.
const (
	sharedQuotas = "#quotas"
	sharedLeases = "#leases#" // and the lease table
)

func (t *Table) fleet() string { return escaped(t.o.Pipeline) + "#workers" }

// member is the key of a worker's row.
func (t *Table) member(worker string) (Item, error) {
	sk := escaped(worker)
	if sk == "" || len(sk) > 1024 {
		return nil, pipeline.Permanent(errs.New("leases: a worker's name is 1 to 1,024 bytes"))
	}
	return Item{attrPK: text(t.fleet()), attrSK: text(sk)}, nil
}

func escaped(name string) string { return string(item.AppendEscaped(nil, name)) }

func encodeMember(m leases.Member) Item {
	row := Item{
		attrName: text(m.Name), attrBeat: number(m.Heartbeat), attrLeaving: &types.AttributeValueMemberBOOL{Value: m.Leaving},
		attrLeases: number(int64(m.Leases)), attrLoad: decimal(m.Load), attrCalls: decimal(m.Calls), attrReading: number(m.Pending),
	}
	if m.AtEnd > 0 {
		row[attrAtEnd] = number(m.AtEnd)
	}
	behind, stopped, failing := make(Item), make(Item), make(Item)
	for shard, at := range m.Behind {
		behind[shard] = &types.AttributeValueMemberNULL{Value: true}
		if !at.IsZero() {
			behind[shard] = number(at.Unix())
		}
	}
	shards := slices.Sorted(maps.Keys(m.Stopped))
	for _, shard := range shards[:min(len(shards), maxStopped)] {
		stopped[shard] = text(cut(m.Stopped[shard], maxWhy))
	}
	for shard, f := range m.Failing {
		failing[shard] = stamp(f.Since, cut(f.Class, maxWhy))
	}
	for name, of := range map[string]Item{attrBehind: behind, attrStopped: stopped, attrFailing: failing} {
		if len(of) > 0 {
			row[name] = &types.AttributeValueMemberM{Value: of}
		}
	}
	return row
}

// cut is the first runes of s, at most n bytes of them.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// decodeMember is the member of a row. What is not as it should be is left out: nothing depends on more
// than the beat.
func decodeMember(row Item) leases.Member {
	r := reader{row: row}
	worker, err := item.Unescape(r.text(attrSK))
	if err != nil {
		worker = r.text(attrSK)
	}
	m := leases.Member{
		Worker: worker, Name: r.text(attrName), Heartbeat: r.integer(attrBeat), Leases: int(r.integer(attrLeases)),
		Load: r.decimal(attrLoad), Calls: r.decimal(attrCalls), Pending: r.integer(attrReading), AtEnd: r.integer(attrAtEnd),
		Behind: make(map[string]time.Time), Stopped: make(map[string]string), Failing: make(map[string]leases.ReadFailure),
	}
	if leaving, ok := row[attrLeaving].(*types.AttributeValueMemberBOOL); ok {
		m.Leaving = leaving.Value
	}
	behind, stopped, failing := r.table(attrBehind), r.table(attrStopped), r.table(attrFailing)
	for shard, at := range behind.row {
		m.Behind[shard] = time.Time{}
		if _, read := at.(*types.AttributeValueMemberN); read {
			m.Behind[shard] = behind.time(shard)
		}
	}
	for shard := range stopped.row {
		m.Stopped[shard] = stopped.text(shard)
	}
	for shard := range failing.row {
		if at, class, ok := parseStamp(failing.text(shard)); ok {
			m.Failing[shard] = leases.ReadFailure{Since: at, Class: class}
		}
	}
	return m
}

// table reads a map; one that is absent is empty.
func (r *reader) table(name string) *reader {
	if m, ok := r.row[name].(*types.AttributeValueMemberM); ok {
		return &reader{row: m.Value}
	}
	return &reader{}
}
