package view

import (
	"encoding/base64"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Reasons of an item that counts nowhere, beside [ReasonWhen] and [ReasonSparse].
const (
	ReasonRemoved = "removed" // the item is gone
	ReasonExpired = "expired" // it is gone by TTL, and what it counted for stays
)

// Plan finds what the item counts for after the change, by its new image alone,
// and fills d.Ops with one [GroupOp] for each share, or with one that says why
// it counts nowhere. It does no I/O and may be called concurrently. An item whose new
// image can't be counted counts nowhere, and the change fails once that is durable, with an
// error that is permanent, names attribute and path, and shows no value.
func (a *Aggregate) Plan(d *pipeline.Delivery) error {
	shares, reason, err := a.after(d.Change)
	switch {
	case err != nil && !d.Change.New.Exists():
		return err
	case err != nil:
		d.Ops = append(d.Ops, a.voidOp(d.Change, err))
		return nil
	}
	if len(shares) == 0 {
		d.Ops = append(d.Ops, &GroupOp{Reason: reason, aggregate: a, earlier: a.countedBefore(d.Change)})
		return nil
	}
	shard := a.shardOf(string(d.Change.Key))
	ops := make([]GroupOp, len(shares))
	for i := range shares {
		ops[i] = GroupOp{Share: shares[i].Share, aggregate: a, shown: shares[i].shown, shard: shard}
		d.Ops = append(d.Ops, &ops[i])
	}
	return nil
}

// voidOp says that the item can't be counted.
func (a *Aggregate) voidOp(c *record.Change, flaw error) *GroupOp {
	return &GroupOp{Reason: void, aggregate: a, earlier: a.countedBefore(c), flaw: flaw}
}

// after is what the item counts for now, and the reason where that is nothing.
func (a *Aggregate) after(c *record.Change) ([]share, string, error) {
	switch {
	case c.Removed() && a.keep && c.TTLDelete():
		return nil, ReasonExpired, nil
	case c.Removed():
		return nil, ReasonRemoved, nil
	}
	item, err := a.base.after(c, "what the item counts for is made of it")
	if err != nil {
		return nil, "", err
	}
	return a.shares(c, item)
}

// countedBefore is false where it is certain that the item counted for nothing
// before the change. It decides no value: an item that counts for nothing, and is
// not known to have counted, is written down only if an earlier change of it may
// be still to come, from dead letters, and must then find itself superseded.
func (a *Aggregate) countedBefore(c *record.Change) bool {
	switch {
	case c.Op == record.Insert, c.Op == record.Snapshot:
		return false
	case !c.Old.Exists():
		return true
	}
	shares, _, err := a.shares(c, c.Old)
	return err != nil || len(shares) > 0
}

// shares is what an item counts for: one share for each element, or one for the
// item, and none where its group's key misses a part.
func (a *Aggregate) shares(c *record.Change, image item.Image) ([]share, string, error) {
	if a.when != nil {
		in, err := a.when.Match(image)
		if err != nil || !in {
			return nil, ReasonWhen, err
		}
	}
	scope := template.Scope{Change: c, Item: image, EachOf: a.forEach.String()}
	if a.forEach.IsZero() {
		s, ok, err := a.share(scope)
		if err != nil || !ok {
			return nil, ReasonSparse, err
		}
		return []share{s}, "", nil
	}
	list, ok := image.At(a.forEach)
	switch {
	case !ok || list.IsNull():
		return nil, ReasonSparse, nil
	case list.Kind() != item.KindL:
		return nil, "", errs.Errorf("for_each: the attribute %s is of the type %s, and not a list", redact.Field(a.forEach.String()), redact.Safe(list.Kind().String()))
	}
	shares := make([]share, 0, list.Len())
	for i, element := range list.Elements() {
		scope.Each = element
		s, ok, err := a.share(scope)
		if err != nil {
			return nil, "", errs.Errorf("element %d of %s: %w", i, redact.Field(a.forEach.String()), err)
		}
		if ok {
			shares = append(shares, s)
		}
	}
	return shares, ReasonSparse, nil
}

// share is what one element counts for.
type share struct {
	state.Share
	shown string // the group's key as people are shown it, where a mask decides
}

// share is what one element counts for; false where its group's key misses a part.
func (a *Aggregate) share(scope template.Scope) (share, bool, error) {
	row, err := a.group(scope)
	if err != nil || row == "" {
		return share{}, false, err
	}
	s := share{Share: state.Share{Group: row, Values: make([]string, len(a.values))}, shown: a.shown(scope)}
	for i := range a.values {
		v := &a.values[i]
		if v.of == count {
			continue
		}
		if s.Values[v.at], err = v.text(scope); err != nil {
			return share{}, false, errs.Errorf("value %s: %w", redact.Field(v.Name), err)
		}
	}
	return s, true, nil
}

// group is the row of a group, "" where a part of its key is missing.
func (a *Aggregate) group(scope template.Scope) (state.Row, error) {
	var buf [128]byte
	limit := maxPartitionKey
	if a.shards > 1 {
		limit -= len(shardMark) + len(strconv.Itoa(a.shards-1))
	}
	first, second, text, err := a.keyParts(buf[:0], &scope, limit)
	if err != nil || first.missing() {
		return "", err
	}
	whole := string(text)
	pk := first.valueIn(whole)
	if a.shards > 1 && pk.Kind() != item.KindS {
		pk = shardable(pk)
		if key, _ := pk.Text(); len(key) > limit {
			return "", tooLong(a.pk.Name, len(key), limit)
		}
	}
	return state.MakeRow(pk, second.valueIn(whole))
}

// text is the value as a share holds it; "" where it is missing or NULL.
func (v *value) text(scope template.Scope) (string, error) {
	var found item.Value
	var ok bool
	switch {
	case !v.Each:
		found, ok = scope.Item.At(v.path)
	case v.Path == "":
		found, ok = scope.Each, true
	default:
		found, ok = scope.Each.Lookup(v.Path)
	}
	if !ok || found.IsNull() {
		return "", nil
	}
	if v.of == sum {
		d, ok := found.Number()
		if !ok {
			return "", errs.Errorf("%s is of the type %s, and a sum is of numbers", redact.Field(v.where()), redact.Safe(found.Kind().String()))
		}
		return d.String(), nil
	}
	text, ok := state.SortableText(found)
	if !ok {
		return "", errs.Errorf("%s is of the type %s, and a %s is of S, N, B or BOOL", redact.Field(v.where()), redact.Safe(found.Kind().String()), redact.Safe(v.Of))
	}
	return text, nil
}

// where is the value's path as people write it.
func (v *value) where() string {
	switch {
	case !v.Each:
		return v.Path
	case v.Path == "" || v.Path[0] == '[':
		return "each" + v.Path
	default:
		return "each." + v.Path
	}
}

// shardMark stands between a group's partition key and the number of its shard.
const shardMark = "~"

// shardable is a partition key as text: that of a sharded row is an S.
func shardable(pk item.Value) item.Value {
	if d, ok := pk.Number(); ok {
		return item.StringValue(d.String())
	}
	b, _ := pk.Bytes()
	return item.StringValue(base64.RawURLEncoding.EncodeToString(b))
}

// shardOf is the shard that text belongs to, for ever.
func (a *Aggregate) shardOf(text string) int {
	if a.shards == 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(text))
	return int(h.Sum64() % uint64(a.shards))
}

// shardRow is the row of a group's shard.
func (a *Aggregate) shardRow(group state.Row, shard int) state.Row {
	if a.shards == 1 {
		return group
	}
	const escapedMark = "%7E" // as a row's text has it
	pk, sk, _ := strings.Cut(string(group), ",")
	row := pk + escapedMark + strconv.Itoa(shard)
	if a.sk.Template != nil {
		row += "," + sk
	}
	return state.Row(row)
}
