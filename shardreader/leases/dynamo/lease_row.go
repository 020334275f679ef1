package dynamo

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Item is a row as a type of the SDK.
type Item = map[string]types.AttributeValue

// Attributes of KCL.
const (
	attrKey             = "leaseKey"
	attrOwner           = "leaseOwner"
	attrCheckpointOwner = "checkpointOwner"
	attrCounter         = "leaseCounter"
	attrCheckpoint      = "checkpoint"
	attrSub             = "checkpointSubSequenceNumber"
	attrSwitches        = "ownerSwitchesSinceCheckpoint"
	attrParents         = "parentShardId"
	attrChildren        = "childShardIds"
	attrPending         = "pendingCheckpoint"
	attrPendingSub      = "pendingCheckpointSubSequenceNumber"
	attrPendingState    = "pendingCheckpointState"
	attrThroughput      = "throughputKBps"
	attrHashFirst       = "startingHashKey"
	attrHashLast        = "endingHashKey"
	attrEntity          = "entityType"
	attrStreamName      = "streamName"
	attrShard           = "shardId"

	entityLease = "LEASE"
)

// Attributes of tablewake. KCL leaves them as they are when it writes a checkpoint. So tw_time and tw_stopped name the
// checkpoint that they belong to, and do not count if the row has another checkpoint.
const (
	attrStream      = "tw_stream"  // ARN
	attrFirst       = "tw_first"   // sequence number
	attrFrom        = "tw_from"    // Unix seconds
	attrTime        = "tw_time"    // Unix seconds, a space, and the checkpoint
	attrRequestedBy = "tw_wanted"  // id of a consumer
	attrPinned      = "tw_pinned"  // name of a consumer
	attrStopReason  = "tw_stopped" // the checkpoint, a space, and the reason
)

func textAttribute(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// decimal returns f as a DynamoDB number. It returns 0 if f is 0, or near the limits of DynamoDB's numbers (1E-130 and
// 9.99E+125), or beyond them.
func decimal(f float64) types.AttributeValue {
	magnitude := math.Abs(f)
	isInRange := magnitude > 1e-100 && magnitude < 1e100
	if !isInRange {
		f = 0
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(f, 'g', -1, 64)}
}

// timeWithLabel returns a time in Unix seconds, a space, and a label: a checkpoint, or the class of an error.
func timeWithLabel(at time.Time, label string) types.AttributeValue {
	return textAttribute(strconv.FormatInt(at.Unix(), 10) + " " + label)
}

// parseTimeWithLabel is the inverse of timeWithLabel. ok is false if s does not begin with a time.
func parseTimeWithLabel(s string) (at time.Time, label string, ok bool) {
	seconds, label, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), label, err == nil
}

// encode returns the attributes of a lease, except the key and Switches. newRow and update write these themselves.
func encode(l leases.Lease) Item {
	row := Item{
		attrCounter:    number(l.Counter),
		attrCheckpoint: textAttribute(l.Checkpoint.String()),
		attrSub:        number(l.Checkpoint.Sub),
	}
	for name, s := range map[string]string{attrOwner: l.Owner, attrStream: l.Stream, attrFirst: l.First,
		attrRequestedBy: l.RequestedBy, attrPinned: l.Pinned} {
		if s != "" {
			row[name] = textAttribute(s)
		}
	}
	for name, ids := range map[string][]string{attrParents: l.Parents, attrChildren: l.Children} {
		if len(ids) > 0 {
			ids = slices.Sorted(slices.Values(ids))
			row[name] = &types.AttributeValueMemberSS{Value: slices.Compact(ids)}
		}
	}
	if load := decimal(l.Load / 1024); !equal(load, decimal(0)) { // decimal also returns 0 for a tiny load
		row[attrThroughput] = load
	}
	if !l.From.IsZero() {
		row[attrFrom] = number(l.From.Unix())
	}
	if !l.Time.IsZero() {
		row[attrTime] = timeWithLabel(l.Time, l.Checkpoint.String())
	}
	if l.Stopped != "" {
		row[attrStopReason] = textAttribute(l.Checkpoint.String() + " " + l.Stopped)
	}
	return row
}

// decode reads a row that tablewake or KCL wrote. It returns an error if an attribute has a wrong type.
func decode(row Item) (leases.Lease, error) {
	r := rowReader{row: row}
	l := leases.Lease{
		Shard:       r.readText(attrKey),
		Stream:      r.readText(attrStream),
		Owner:       r.readText(attrOwner),
		Counter:     r.integer(attrCounter),
		Checkpoint:  r.checkpoint(),
		Parents:     r.set(attrParents),
		Children:    r.set(attrChildren),
		Switches:    r.integer(attrSwitches),
		First:       r.readText(attrFirst),
		From:        r.time(attrFrom),
		RequestedBy: r.readText(attrRequestedBy),
		Pinned:      r.readText(attrPinned),
		Load:        r.decimal(attrThroughput) * 1024,
	}
	if stream := r.readText(attrStreamName); stream != "" { // the leaseKey is STREAM:SHARD
		l.Opaque, l.Shard = l.Shard, r.readText(attrShard)
		if l.Shard == "" {
			l.Shard = strings.TrimPrefix(l.Opaque, stream+":")
		}
		if l.Stream == "" {
			l.Stream = arnFromIdentifier(stream)
		}
	}
	if owner := r.readText(attrCheckpointOwner); owner != "" { // it still has the lease, and hands it to leaseOwner
		l.Owner = owner
	}
	current := l.Checkpoint.String()
	if at, checkpoint, ok := parseTimeWithLabel(r.readText(attrTime)); ok && checkpoint == current {
		l.Time = at
	}
	if checkpoint, reason, ok := strings.Cut(r.readText(attrStopReason), " "); ok && checkpoint == current {
		l.Stopped = reason
	}
	return l, r.err
}

// shardFromRow returns the shard of a damaged row, or the key of the row if the shard is unknown.
func shardFromRow(row Item) string {
	r := rowReader{row: row}
	key, shard := r.readText(attrKey), r.readText(attrShard)
	if stream := r.readText(attrStreamName); shard == "" && stream != "" {
		shard = strings.TrimPrefix(key, stream+":")
	}
	return cmp.Or(shard, key)
}

// rowReader reads typed attributes of a row. An absent attribute is read as the zero value. The first attribute with a
// wrong type sets err.
type rowReader struct {
	row Item
	err error
}

// setTypeError notes that an attribute has a wrong type, unless an earlier attribute has.
func (r *rowReader) setTypeError(name, want string) {
	if r.err != nil {
		return
	}
	row := "a row without a leaseKey"
	if key, ok := r.row[attrKey].(*types.AttributeValueMemberS); ok {
		row = "the row " + key.Value
	}
	r.err = errs.Errorf("%s: %s is not %s", redact.Safe(row), redact.Safe(name), redact.Safe(want))
}

// attr returns an attribute of the type T. ok is false if the attribute is absent or has another type. want describes
// the type for the error.
func attr[T types.AttributeValue](r *rowReader, name, want string) (v T, ok bool) {
	value, exists := r.row[name]
	v, ok = value.(T)
	if exists && !ok {
		r.setTypeError(name, want)
	}
	return v, ok
}

func (r *rowReader) readText(name string) string {
	if s, ok := attr[*types.AttributeValueMemberS](r, name, "a string"); ok {
		return s.Value
	}
	return ""
}

func (r *rowReader) digits(name string) string {
	if n, ok := attr[*types.AttributeValueMemberN](r, name, "a number"); ok {
		return n.Value
	}
	return "0"
}

func (r *rowReader) integer(name string) int64 {
	n, err := strconv.ParseInt(r.digits(name), 10, 64)
	if err != nil {
		r.setTypeError(name, "an integer")
	}
	return n
}

func (r *rowReader) decimal(name string) float64 {
	f, err := strconv.ParseFloat(r.digits(name), 64)
	if err != nil {
		r.setTypeError(name, "a number")
	}
	return f
}

func (r *rowReader) time(name string) time.Time {
	if _, ok := r.row[name]; !ok {
		return time.Time{}
	}
	return time.Unix(r.integer(name), 0).UTC()
}

func (r *rowReader) set(name string) []string {
	if ss, ok := attr[*types.AttributeValueMemberSS](r, name, "a set of strings"); ok {
		return slices.Sorted(slices.Values(ss.Value))
	}
	return nil
}

func (r *rowReader) checkpoint() leases.Checkpoint {
	c, err := leases.ParseCheckpoint(r.readText(attrCheckpoint))
	if err != nil {
		r.setTypeError(attrCheckpoint, "a sequence number, TRIM_HORIZON, LATEST, AT_TIMESTAMP or SHARD_END")
	}
	c.Sub = r.integer(attrSub)
	return c
}
