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

// Attributes of the state table. All rows have the same key attributes and TTL attribute.
const (
	attrPK      = "pk"
	attrSK      = "sk"
	attrExpires = "expires" // Unix seconds

	attrName           = "name"
	attrBeat           = "beat"
	attrLeaving        = "leaving"
	attrLeases         = "leases"
	attrLoad           = "load"
	attrCalls          = "calls"
	attrRecordsPending = "pending"
	attrBehind         = "behind"  // map by shard: Unix seconds; NULL if nothing was read
	attrStopped        = "stopped" // map by shard: reason
	attrFailing        = "failing" // map by shard: Unix seconds of the first failure, and the class of the last error
	attrAtEnd          = "at_end"  // number of a heartbeat; may be absent
	attrQuiet          = "quiet"   // number of a heartbeat; may be absent
	attrBusy           = "busy"    // set of shards; may be absent
	attrRoutes         = "routes"  // digest; may be absent

	attrCount = "count"
)

// The limits of a member's row, because an item has at most 400 KB. The row has the first maxStopped stopped shards by
// name.
const (
	maxStopped = 1000
	maxReason  = 200 // bytes of a reason or an error class
)

// begunPrefix begins the sort key of a row that marks a stream as begun. These rows have the partition key of the
// members, so that one query reads both. The sort key of a member, an escaped consumer id, contains no #.
const begunPrefix = "begun#"

// Members returns the members. It does not read the lease table, which may be missing.
func (t *Table) Members(ctx context.Context) ([]leases.Member, error) {
	var s leases.Snapshot
	if err := t.readMembers(ctx, &s); err != nil {
		return nil, err
	}
	s.Sort()
	return s.Members, nil
}

// readMembers reads the members and the begun streams of this pipeline.
func (t *Table) readMembers(ctx context.Context, s *leases.Snapshot) error {
	in := &dynamodb.QueryInput{
		TableName: &t.options.StateTable, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(attrPK + " = :pk"),
		ExpressionAttributeValues: Item{":pk": textAttribute(t.fleetKey())},
	}
	for {
		out, err := read(ctx, t.options.Client.Query, in)
		if err != nil {
			return callError(ctx, "Query", t.options.StateTable, err)
		}
		for _, row := range out.Items {
			t.addMemberRow(s, row)
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// addMemberRow adds the member or the begun stream that a row stores.
func (t *Table) addMemberRow(s *leases.Snapshot, row Item) {
	r := rowReader{row: row}
	name, isBegun := strings.CutPrefix(r.readText(attrSK), begunPrefix)
	if !isBegun {
		s.Members = append(s.Members, decodeMember(row))
		return
	}
	stream, err := item.Unescape(name)
	if err != nil {
		s.DamagedLeases = append(s.DamagedLeases, leases.DamagedLease{Shard: begunPrefix + name, OfStream: true,
			Reason: fmt.Sprintf("a row of table %s says that a stream was begun, and its sort key is damaged: %v",
				t.options.StateTable, err)})
		return
	}
	s.BegunStreams = append(s.BegunStreams, stream)
}

// Heartbeat implements [leases.Table].
func (t *Table) Heartbeat(ctx context.Context, m leases.Member) error {
	key, err := t.memberKey(m.ID)
	if err != nil {
		return err
	}
	row := encodeMember(m)
	maps.Copy(row, key)
	row[attrExpires] = number(time.Now().Add(memberTTL).Unix())
	in := &dynamodb.PutItemInput{TableName: &t.options.StateTable, Item: row}
	_, err = write(ctx, t.options.Client.PutItem, in)
	return callError(ctx, "PutItem", t.options.StateTable, err)
}

// RemoveMember implements [leases.Table].
func (t *Table) RemoveMember(ctx context.Context, consumer string) error {
	key, err := t.memberKey(consumer)
	if err != nil {
		return err
	}
	input := &dynamodb.DeleteItemInput{TableName: &t.options.StateTable, Key: key}
	_, err = write(ctx, t.options.Client.DeleteItem, input)
	return callError(ctx, "DeleteItem", t.options.StateTable, err)
}

// MarkBegun implements [leases.Table]. The row has no TTL.
func (t *Table) MarkBegun(ctx context.Context, stream string) error {
	if stream == "" {
		return pipeline.Permanent(errs.New("leases: a stream without a name is begun"))
	}
	row := Item{attrPK: textAttribute(t.fleetKey()), attrSK: textAttribute(begunPrefix + escaped(stream))}
	in := &dynamodb.PutItemInput{TableName: &t.options.StateTable, Item: row}
	_, err := write(ctx, t.options.Client.PutItem, in)
	return callError(ctx, "PutItem", t.options.StateTable, err)
}

// ReserveCall implements [leases.Table].
func (t *Table) ReserveCall(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	if quota == "" {
		return 0, false, pipeline.Permanent(errs.New("leases: a quota without a name"))
	}
	key := Item{attrPK: textAttribute(sharedQuotas), attrSK: textAttribute(escaped(quota))}
	e := new(expression)
	name := e.name(attrCount)
	condition := name + " = " + e.placeholder(number(seen))
	if seen == 0 {
		condition = "(attribute_not_exists(" + name + ") OR " + condition + ")"
	}
	e.put(attrCount, number(seen+1))
	e.put(attrExpires, number(time.Now().Add(memberTTL).Unix()))
	in := &dynamodb.UpdateItemInput{
		TableName: &t.options.StateTable, Key: key,
		UpdateExpression:                    aws.String(e.changes()),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            e.names,
		ExpressionAttributeValues:           e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	_, err = write(ctx, t.options.Client.UpdateItem, in)
	if err == nil {
		return seen + 1, true, nil
	}
	row, err := t.refusedRow(ctx, "UpdateItem", t.options.StateTable, key, err)
	if err != nil {
		return 0, false, err
	}
	r := rowReader{row: row}
	return r.integer(attrCount), false, nil
}

// The partition keys of rows that pipelines share. All other partition keys begin with the name of a pipeline.
const (
	sharedQuotas = "#quotas"
	sharedLeases = "#leases#" // followed by the name of the lease table
)

func (t *Table) fleetKey() string { return escaped(t.options.Pipeline) + "#workers" }

// memberKey returns the key of a consumer's row.
func (t *Table) memberKey(consumer string) (Item, error) {
	sk := escaped(consumer)
	if sk == "" || len(sk) > 1024 {
		return nil, pipeline.Permanent(errs.New("leases: a consumer's id is 1 to 1,024 bytes"))
	}
	return Item{attrPK: textAttribute(t.fleetKey()), attrSK: textAttribute(sk)}, nil
}

func escaped(name string) string { return string(item.AppendEscaped(nil, name)) }

// encodeMember returns the row of a member, without its key attributes and its TTL attribute.
func encodeMember(m leases.Member) Item {
	row := Item{
		attrName: textAttribute(m.Name), attrBeat: number(m.Heartbeat),
		attrLeaving: &types.AttributeValueMemberBOOL{Value: m.Leaving},
		attrLeases:  number(int64(m.LeaseCount)), attrLoad: decimal(m.Load), attrCalls: decimal(m.CallsPerMonth),
		attrRecordsPending: number(m.Pending),
	}
	if m.AtEndHeartbeat > 0 {
		row[attrAtEnd] = number(m.AtEndHeartbeat)
	}
	if m.QuietHeartbeat > 0 {
		row[attrQuiet] = number(m.QuietHeartbeat)
	}
	if len(m.BusyShards) > 0 {
		row[attrBusy] = &types.AttributeValueMemberSS{Value: m.BusyShards}
	}
	if m.RoutesDigest != "" {
		row[attrRoutes] = textAttribute(m.RoutesDigest)
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
		stopped[shard] = textAttribute(truncate(m.Stopped[shard], maxReason))
	}
	for shard, f := range m.Failing {
		failing[shard] = timeWithLabel(f.Since, truncate(f.Class, maxReason))
	}
	for name, entries := range map[string]Item{attrBehind: behind, attrStopped: stopped, attrFailing: failing} {
		if len(entries) > 0 {
			row[name] = &types.AttributeValueMemberM{Value: entries}
		}
	}
	return row
}

// truncate returns as many of the first runes of s as fit into maxBytes.
func truncate(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	end := maxBytes
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// decodeMember returns the member of a row. It ignores damaged attributes, because only the heartbeat matters for
// leases.
func decodeMember(row Item) leases.Member {
	r := rowReader{row: row}
	id, err := item.Unescape(r.readText(attrSK))
	if err != nil {
		id = r.readText(attrSK)
	}
	m := leases.Member{
		ID: id, Name: r.readText(attrName), Heartbeat: r.integer(attrBeat), LeaseCount: int(r.integer(attrLeases)),
		Load: r.decimal(attrLoad), CallsPerMonth: r.decimal(attrCalls), Pending: r.integer(attrRecordsPending),
		AtEndHeartbeat: r.integer(attrAtEnd), RoutesDigest: r.readText(attrRoutes),
		QuietHeartbeat: r.integer(attrQuiet), BusyShards: r.set(attrBusy),
		Behind: make(map[string]time.Time), Stopped: make(map[string]string), Failing: make(map[string]leases.ReadFailure),
	}
	if leaving, ok := row[attrLeaving].(*types.AttributeValueMemberBOOL); ok {
		m.Leaving = leaving.Value
	}
	behind, stopped, failing := r.entries(attrBehind), r.entries(attrStopped), r.entries(attrFailing)
	for shard, at := range behind.row {
		m.Behind[shard] = time.Time{}
		if _, wasRead := at.(*types.AttributeValueMemberN); wasRead {
			m.Behind[shard] = behind.time(shard)
		}
	}
	for shard := range stopped.row {
		m.Stopped[shard] = stopped.readText(shard)
	}
	for shard := range failing.row {
		if at, class, ok := parseTimeWithLabel(failing.readText(shard)); ok {
			m.Failing[shard] = leases.ReadFailure{Since: at, Class: class}
		}
	}
	return m
}

// entries returns a rowReader for the entries of a map attribute. If the attribute is absent, the rowReader has no
// entries.
func (r *rowReader) entries(name string) *rowReader {
	if m, ok := r.row[name].(*types.AttributeValueMemberM); ok {
		return &rowReader{row: m.Value}
	}
	return &rowReader{}
}
