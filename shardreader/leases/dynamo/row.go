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

// Item is a row, as the SDK has it.
type Item = map[string]types.AttributeValue

// KCL's attributes.
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

// Our own.
const (
	attrStream = "tw_stream" // ARN
	attrFirst  = "tw_first"
	attrFrom   = "tw_from" // Unix seconds
	attrTime   = "tw_time" // Unix seconds, a space, and the checkpoint that it is of: KCL moves that one and leaves this
	attrWanted = "tw_wanted"
	attrPinned = "tw_pinned"
	attrStop   = "tw_stopped" // the checkpoint that it is of, a space, and why
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// decimal is f as an N, which holds neither infinities nor what an average decays to.
func decimal(f float64) types.AttributeValue {
	if a := math.Abs(f); !(a > 1e-100 && a < 1e100) {
		f = 0
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(f, 'g', -1, 64)}
}

// stamp is a time in Unix seconds, a space, and what it is of.
func stamp(at time.Time, of string) types.AttributeValue {
	return text(strconv.FormatInt(at.Unix(), 10) + " " + of)
}

// parseStamp undoes stamp.
func parseStamp(s string) (at time.Time, of string, ok bool) {
	seconds, of, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), of, err == nil
}

// encode is what a lease sets in its row, beside its key and what is counted there.
func encode(l leases.Lease) Item {
	row := Item{
		attrCounter:    number(l.Counter),
		attrCheckpoint: text(l.Checkpoint.String()),
		attrSub:        number(l.Checkpoint.Sub),
	}
	for name, s := range map[string]string{attrOwner: l.Owner, attrStream: l.Stream, attrFirst: l.First, attrWanted: l.RequestedBy, attrPinned: l.Pinned} {
		if s != "" {
			row[name] = text(s)
		}
	}
	for name, ids := range map[string][]string{attrParents: l.Parents, attrChildren: l.Children} {
		if len(ids) > 0 {
			ids = slices.Sorted(slices.Values(ids))
			row[name] = &types.AttributeValueMemberSS{Value: slices.Compact(ids)}
		}
	}
	if load := decimal(l.Load / 1024); !equal(load, decimal(0)) {
		row[attrThroughput] = load
	}
	if !l.From.IsZero() {
		row[attrFrom] = number(l.From.Unix())
	}
	if !l.Time.IsZero() {
		row[attrTime] = stamp(l.Time, l.Checkpoint.String())
	}
	if l.Stopped != "" {
		row[attrStop] = text(l.Checkpoint.String() + " " + l.Stopped)
	}
	return row
}

// decode is the lease of a row.
func decode(row Item) (leases.Lease, error) {
	r := reader{row: row}
	l := leases.Lease{
		Shard:       r.text(attrKey),
		Stream:      r.text(attrStream),
		Owner:       r.text(attrOwner),
		Counter:     r.integer(attrCounter),
		Checkpoint:  r.checkpoint(),
		Parents:     r.set(attrParents),
		Children:    r.set(attrChildren),
		Switches:    r.integer(attrSwitches),
		First:       r.text(attrFirst),
		From:        r.time(attrFrom),
		RequestedBy: r.text(attrWanted),
		Pinned:      r.text(attrPinned),
		Load:        r.decimal(attrThroughput) * 1024,
	}
	if id := r.text(attrStreamName); id != "" {
		l.Opaque, l.Shard = l.Shard, r.text(attrShard)
		if l.Shard == "" {
			l.Shard = strings.TrimPrefix(l.Opaque, id+":")
		}
		if l.Stream == "" {
			l.Stream = arnOf(id)
		}
	}
	if owner := r.text(attrCheckpointOwner); owner != "" {
		l.Owner = owner
	}
	if at, of, ok := parseStamp(r.text(attrTime)); ok && of == l.Checkpoint.String() {
		l.Time = at
	}
	if at, why, ok := strings.Cut(r.text(attrStop), " "); ok && at == l.Checkpoint.String() {
		l.Stopped = why
	}
	return l, r.err
}

// shardOf is the shard of a row that cannot be read, as far as it tells; else its key.
func shardOf(row Item) string {
	r := reader{row: row}
	key, shard := r.text(attrKey), r.text(attrShard)
	if id := r.text(attrStreamName); shard == "" && id != "" {
		shard = strings.TrimPrefix(key, id+":")
	}
	return cmp.Or(shard, key)
}

// reader reads attributes of a row. Absent ones are zero; the first that is of another type
// than it must be is the error.
type reader struct {
	row Item
	err error
}

func (r *reader) wrong(name, must string) {
	if r.err == nil {
		key, _ := r.row[attrKey].(*types.AttributeValueMemberS)
		what := "a row without a leaseKey"
		if key != nil {
			what = "the row " + key.Value
		}
		r.err = errs.Errorf("%s: %s is not %s", redact.Safe(what), redact.Safe(name), redact.Safe(must))
	}
}

// attr is an attribute of a type; ok is false where it is absent, or of another type.
func attr[T types.AttributeValue](r *reader, name, must string) (v T, ok bool) {
	got, there := r.row[name]
	if v, ok = got.(T); there && !ok {
		r.wrong(name, must)
	}
	return v, ok
}

func (r *reader) text(name string) string {
	if s, ok := attr[*types.AttributeValueMemberS](r, name, "a string"); ok {
		return s.Value
	}
	return ""
}

func (r *reader) digits(name string) string {
	if n, ok := attr[*types.AttributeValueMemberN](r, name, "a number"); ok {
		return n.Value
	}
	return "0"
}

func (r *reader) integer(name string) int64 {
	n, err := strconv.ParseInt(r.digits(name), 10, 64)
	if err != nil {
		r.wrong(name, "an integer")
	}
	return n
}

func (r *reader) decimal(name string) float64 {
	f, err := strconv.ParseFloat(r.digits(name), 64)
	if err != nil {
		r.wrong(name, "a number")
	}
	return f
}

func (r *reader) time(name string) time.Time {
	if _, ok := r.row[name]; !ok {
		return time.Time{}
	}
	return time.Unix(r.integer(name), 0).UTC()
}

func (r *reader) set(name string) []string {
	if ss, ok := attr[*types.AttributeValueMemberSS](r, name, "a set of strings"); ok {
		return slices.Sorted(slices.Values(ss.Value))
	}
	return nil
}

func (r *reader) checkpoint() leases.Checkpoint {
	c, err := leases.ParseCheckpoint(r.text(attrCheckpoint))
	if err != nil {
		r.wrong(attrCheckpoint, "a sequence number, TRIM_HORIZON, LATEST, AT_TIMESTAMP or SHARD_END")
	}
	c.Sub = r.integer(attrSub)
	return c
}
