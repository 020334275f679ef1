package view

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// The reasons of [GroupOp], besides [ReasonWhen] and [ReasonSparse].
const (
	ReasonRemoved = "removed" // the item counts nowhere, because it was removed
	ReasonExpired = "expired" // TTL removed the item, and it stays counted
)

// Plan fills d.Ops with one [GroupOp] for each share that the item has after the change. If the item has no share, it
// adds one GroupOp with the reason. The shares are those of the new image. If the item expired and stays counted, they
// are those of the old image. Plan does no I/O and may be called concurrently.
//
// If the image cannot be counted, the item counts nowhere. The change fails, but only after the removal of the item's
// contribution is durable. The error is permanent. It names attribute and path, and contains no value.
func (a *Aggregate) Plan(d *pipeline.Delivery) error {
	shares, reason, err := a.sharesAfter(d.Change)
	if err != nil {
		countedImage := d.Change.New
		if a.keepsExpired(d.Change) {
			countedImage = d.Change.Old
		}
		if !countedImage.Exists() { // the stream lacks the image
			return err
		}
		d.Ops = append(d.Ops, a.voidOp(d.Change, err))
		return nil
	}
	if len(shares) == 0 {
		d.Ops = append(d.Ops, &GroupOp{Reason: reason, aggregate: a, countedBefore: a.countedBefore(d.Change)})
		return nil
	}

	shard := item.Shard(string(d.Change.Key), a.shards)
	ops := make([]GroupOp, len(shares))
	for i := range shares {
		ops[i] = GroupOp{Share: shares[i].Share, Reason: reason, aggregate: a, displayKey: shares[i].displayKey, shard: shard}
		d.Ops = append(d.Ops, &ops[i])
	}
	return nil
}

// voidOp returns the op of an item that cannot be counted.
func (a *Aggregate) voidOp(c *record.Change, cause error) *GroupOp {
	return &GroupOp{Reason: reasonVoid, aggregate: a, countedBefore: a.countedBefore(c), changeErr: cause}
}

// sharesAfter returns the shares of the item after the change. If there are none, it also returns the reason. If the
// item expired and stays counted, it returns shares with the reason ReasonExpired.
func (a *Aggregate) sharesAfter(c *record.Change) (shares []share, reason string, err error) {
	switch {
	case a.keepsExpired(c):
		return a.keptShares(c)
	case c.Removed():
		return nil, ReasonRemoved, nil
	}
	image, err := a.newImage(c, "what the item counts for is made of it")
	if err != nil {
		return nil, "", err
	}
	return a.sharesOf(c, image)
}

// keepsExpired reports whether the change is an expiry whose item stays counted.
func (a *Aggregate) keepsExpired(c *record.Change) bool {
	return a.keepOnTTL && c.Removed() && c.TTLDelete()
}

// keptShares returns the shares of an expired item that stays counted, with the reason ReasonExpired. If there are
// none, it returns another reason. The old image determines the shares. The stored contribution does not determine
// them: a backfill may deliver the item after its expiry, or not at all, and then no contribution is stored at the time
// of the expiry.
func (a *Aggregate) keptShares(c *record.Change) (shares []share, reason string, err error) {
	image := c.Old
	if !image.Exists() {
		if a.readsItem {
			return nil, "", missingImageError(c, "an old", "what the expired item stays counted for is made of it",
				record.NewAndOldImages.String())
		}
		image = c.Keys
	}
	shares, reason, err = a.sharesOf(c, image)
	if len(shares) > 0 {
		reason = ReasonExpired
	}
	return shares, reason, err
}

// countedBefore returns false if the item certainly counted for nothing before the change. The result has no influence
// on values. If it is true, an item that counts for nothing gets a contribution without shares, even if none is stored.
// This contribution supersedes earlier changes of the item, which may come later from dead letters.
func (a *Aggregate) countedBefore(c *record.Change) bool {
	if c.FoundNoItem(a.noTTLDeletes) {
		return false
	}
	if !c.Old.Exists() {
		return true
	}
	shares, _, err := a.sharesOf(c, c.Old)
	return err != nil || len(shares) > 0
}

// sharesOf returns the shares of an image: one share for each element, or one for the item. It leaves out a share if a
// part of its group key is missing. If there are no shares, it also returns the reason.
func (a *Aggregate) sharesOf(c *record.Change, image item.Image) (shares []share, reason string, err error) {
	if a.when != nil {
		matches, err := a.when.Match(image)
		if err != nil || !matches {
			return nil, ReasonWhen, err
		}
	}
	scope := template.Scope{Change: c, Item: image, EachOf: a.forEach.String() + "[*]"}
	if a.forEach.IsZero() {
		s, err := a.elementShare(scope)
		if err != nil || s.Group == "" {
			return nil, ReasonSparse, err
		}
		return []share{s}, "", nil
	}

	return a.elementShares(scope)
}

// elementShares is sharesOf for the elements of an image: those of the list at a.forEach.
func (a *Aggregate) elementShares(scope template.Scope) (shares []share, reason string, err error) {
	list, ok := scope.Item.At(a.forEach)
	switch {
	case !ok || list.IsNull():
		return nil, ReasonSparse, nil
	case list.Kind() != item.KindL:
		return nil, "", errs.Errorf("for_each: the attribute %s is of the type %s, and not a list",
			redact.Field(a.forEach.String()), redact.Safe(list.Kind().String()))
	}
	shares = make([]share, 0, list.Len())
	for i, element := range list.Elements() {
		scope.Each = element
		s, err := a.elementShare(scope)
		if err != nil {
			return nil, "", errs.Errorf("element %d of %s: %w", i, redact.Field(a.forEach.String()), err)
		}
		if s.Group != "" {
			shares = append(shares, s)
		}
	}
	if len(shares) == 0 {
		return nil, ReasonSparse, nil
	}
	return shares, "", nil
}

// share is the share of one element, or of the item.
type share struct {
	state.Share
	displayKey string // key of the group for people, if parts of it are masked; else ""
}

// elementShare returns the share of one element. Its Group is "" if a part of the group key is missing.
func (a *Aggregate) elementShare(scope template.Scope) (share, error) {
	row, err := a.groupRow(scope)
	if err != nil || row == "" {
		return share{}, err
	}
	s := share{Share: state.Share{Group: row, Values: make([]string, len(a.values))}, displayKey: a.displayKey(scope)}
	for i := range a.values {
		v := &a.values[i]
		if v.kind == countKind {
			continue
		}
		if s.Values[v.shareIndex], err = v.shareText(scope); err != nil {
			return share{}, errs.Errorf("value %s: %w", redact.Field(v.Name), err)
		}
	}
	return s, nil
}

// groupRow returns the row of a group without its shard; "" if a part of the key is missing.
func (a *Aggregate) groupRow(scope template.Scope) (state.Row, error) {
	var buf [128]byte
	isSharded := a.shards > 1
	limit := maxPartitionKey
	if isSharded { // shardRow appends the number of the shard
		limit -= len(shardSeparator) + len(strconv.Itoa(a.shards-1))
	}
	pkPart, skPart, text, err := a.appendKeyParts(buf[:0], &scope, limit)
	if err != nil || pkPart.isMissing() {
		return "", err
	}

	keyText := string(text)
	pk := pkPart.valueIn(keyText)
	if isSharded && pk.Kind() != item.KindS {
		pk = shardKeyText(pk)
		if key, _ := pk.Text(); len(key) > limit {
			return "", tooLong(a.pk.Name, len(key), limit)
		}
	}
	return state.MakeRow(pk, skPart.valueIn(keyText))
}

// shareText returns the text of the value in a share; "" if the value is missing or NULL.
func (v *parsedValue) shareText(scope template.Scope) (string, error) {
	found, ok := v.find(scope)
	if !ok || found.IsNull() {
		return "", nil
	}
	if v.kind == sumKind {
		number, ok := found.Number()
		if !ok {
			return "", errs.Errorf("%s is of the type %s, and a sum is of numbers", redact.Field(v.displayPath()),
				redact.Safe(found.Kind().String()))
		}
		return number.String(), nil
	}
	text, ok := state.SortableText(found)
	if !ok {
		return "", errs.Errorf("%s is of the type %s, and a %s is of S, N, B or BOOL", redact.Field(v.displayPath()),
			redact.Safe(found.Kind().String()), redact.Safe(v.Kind))
	}
	return text, nil
}

// find returns the attribute that the value is made of, from the item or from the element; false if it is missing.
func (v *parsedValue) find(scope template.Scope) (item.Value, bool) {
	switch {
	case v.Bound != nil:
		bound := v.Bound.Value(scope.Item)
		return bound, bound.Exists()
	case !v.Each:
		return scope.Item.At(v.path)
	case v.Path == "":
		return scope.Each, true
	default:
		return scope.Each.Lookup(v.Path)
	}
}

// displayPath returns the value's path as it is written in the configuration.
func (v *parsedValue) displayPath() string {
	switch {
	case !v.Each:
		return v.Path
	case v.Path == "" || v.Path[0] == '[':
		return "each" + v.Path
	default:
		return "each." + v.Path
	}
}

// shardSeparator is between a group's partition key and the number of its shard.
const shardSeparator = "~"

// shardKeyText returns a partition key, which is a number or a binary, as text. It is needed because the partition key
// of a sharded row is an S.
func shardKeyText(pk item.Value) item.Value {
	if d, ok := pk.Number(); ok {
		return item.StringValue(d.String())
	}
	b, _ := pk.Bytes()
	return item.StringValue(base64.RawURLEncoding.EncodeToString(b))
}

// shardRow returns the row of a group's shard.
func (a *Aggregate) shardRow(group state.Row, shard int) state.Row {
	if a.shards == 1 {
		return group
	}
	const escapedSeparator = "%7E" // shardSeparator, escaped as in a state.Row
	pk, sk, _ := strings.Cut(string(group), ",")
	row := pk + escapedSeparator + strconv.Itoa(shard)
	if a.sk.Template != nil {
		row += "," + sk
	}
	return state.Row(row)
}
