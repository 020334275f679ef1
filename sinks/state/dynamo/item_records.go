package dynamo

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Attributes of guards, contributions and tombstones. A guard holds the version of an item and the row that the item
// claims. A contribution holds the values that an item adds to the groups of an aggregate.
const (
	attrVersion = "version"
	// attrVoid is a BOOL. It is only present if the change could not be applied. The name is a reserved word of
	// DynamoDB
	attrVoid   = "void"
	attrRow    = "row"    // in a guard: the row that the item claims
	attrShares = "shares" // in a contribution: B, state.Contribution.AppendShares
)

// Guards reads the guards of items, 100 in a request.
func (db *DB) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return readItemRecords(ctx, db, t, items, db.GuardRef, "a guard of the view "+t.View, parseGuard)
}

// Contributions reads the contributions of items, 100 in a request.
func (db *DB) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return readItemRecords(ctx, db, t, items, db.ContributionRef, "a contribution", parseContribution)
}

func parseGuard(found Item) (g state.Guard, err error) {
	g.Row = state.Row(Text(found, attrRow))
	g.Void = isVoid(found)
	g.Version, err = record.ParseVersion(Text(found, attrVersion))
	return g, err
}

func parseContribution(found Item) (state.Contribution, error) {
	version, err := record.ParseVersion(Text(found, attrVersion))
	if err != nil {
		return state.Contribution{}, err
	}

	var shares []byte // nil if the attribute is missing, which ParseContribution refuses
	if b, ok := found[attrShares].(*types.AttributeValueMemberB); ok {
		shares = b.Value
	}
	c, err := state.ParseContribution(version, shares)
	c.Void = isVoid(found)
	return c, err
}

// readItemRecords reads the guards or the contributions of items. The result has the zero T for an item without a
// record. If a record is missing, readItemRecords checks that the state was not lost since the process began. In a lost
// state every item would seem to be new.
func readItemRecords[T any](
	ctx context.Context, db *DB, t state.Target, items []item.Key, ref func(state.Target, item.Key) Ref, what string,
	parse func(Item) (T, error),
) ([]T, error) {
	refs := make([]Ref, len(items))
	for i, item := range items {
		refs[i] = ref(t, item)
	}
	found, err := db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}

	isMissing := func(item Item) bool { return item == nil }
	if slices.ContainsFunc(found, isMissing) {
		if err := db.CheckState(ctx, t); err != nil {
			return nil, err
		}
	}

	all := make([]T, len(items))
	for i, item := range found {
		if item == nil {
			continue
		}
		if all[i], err = parse(item); err != nil {
			return nil, db.Damaged(what, err)
		}
	}
	return all, nil
}

// SetContribution returns the action that replaces a contribution, on condition that the stored contribution is as w
// expects.
func (db *DB) SetContribution(t state.Target, w *state.ContributionWrite) (Action, error) {
	shares := &types.AttributeValueMemberB{Value: w.Next.AppendShares(nil)}
	item := itemRecord(db.ContributionRef(t, w.Source), w.Source, Item{attrShares: shares})
	if len(w.Next.Shares) == 0 {
		db.setExpiry(item)
	}
	setVersion(item, w.Next.Version, w.Next.Void)
	if n := SizeOfItem(item); n > MaxItem {
		return Action{}, viewErrs.Errorf("dynamodb: the keys of the rows or groups of the item would be an item of %d bytes "+
			"in the state table, and DynamoDB takes at most 400 KB (%d): make these keys shorter, or split the item", n, MaxItem)
	}

	unchanged := versionUnchanged(w.Expected.Version, w.Expected.Void)
	isExpected := !w.Expected.Version.IsZero()
	if w.CompareShares && isExpected {
		unchanged.Text += " AND #shares = :shares"
		unchanged.Names["#shares"] = attrShares
		unchanged.Values[":shares"] = &types.AttributeValueMemberB{Value: w.Expected.AppendShares(nil)}
	}
	return Put(db.table, item, unchanged), nil
}

// guardAction returns the action that replaces a guard by next. The condition is that the stored guard has the expected
// version and void flag. A guard is void if no row could be made of its change. A guard without a row expires.
func (db *DB) guardAction(
	t state.Target, source item.Key, expected record.Version, expectedVoid bool, next state.Guard,
) Action {
	item := itemRecord(db.GuardRef(t, source), source, Item{attrRow: S(string(next.Row))})
	if next.Row == "" {
		db.setExpiry(item)
	}
	setVersion(item, next.Version, next.Void)
	return Put(db.table, item, versionUnchanged(expected, expectedVoid))
}

// itemRecord returns the guard or contribution of an item as it is stored. rest has its other attributes. If ref has
// only a part of a long item key, the record has the whole key as an attribute, so that a listing can return the key.
func itemRecord(ref Ref, source item.Key, rest Item) Item {
	image := withAttributes(ref.Key, rest)
	if !strings.HasSuffix(Text(ref.Key, attrPK), string(source)) {
		image[attrItem] = S(string(source))
	}
	return image
}

func setVersion(item Item, v record.Version, void bool) {
	item[attrVersion] = S(v.String())
	if void {
		item[attrVoid] = Bool(true)
	}
}

func isVoid(item Item) bool {
	_, void := item[attrVoid]
	return void
}

// versionUnchanged returns the condition that the stored guard, contribution or tombstone has the expected version and
// void flag. If the expected version is zero, nothing may be stored.
func versionUnchanged(expected record.Version, void bool) Condition {
	if expected.IsZero() {
		return notStored
	}
	c := Condition{
		Text:   "version = :was AND attribute_not_exists(#void)",
		Names:  map[string]string{"#void": attrVoid},
		Values: Item{":was": S(expected.String())},
	}
	if void {
		c.Text = "version = :was AND attribute_exists(#void)"
	}
	return c
}

// Tombstones reads the tombstones of rows, 100 in a request. The result has nil for a row without a tombstone.
func (db *DB) Tombstones(ctx context.Context, t state.Target, rows []state.Row) ([]*state.Tombstone, error) {
	refs := make([]Ref, len(rows))
	for i, row := range rows {
		refs[i] = db.TombstoneRef(t, row)
	}
	found, err := db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}

	all := make([]*state.Tombstone, len(rows))
	for i, item := range found {
		if item == nil {
			continue
		}
		all[i] = ParseTombstone(item)
		if all[i].Expires, err = expiryOf(item); err != nil {
			return nil, db.Damaged("a tombstone of the view "+t.View, err)
		}
	}
	return all, nil
}

// ParseTombstone returns the tombstone of a stored item, without Expires.
func ParseTombstone(image Item) *state.Tombstone {
	return &state.Tombstone{Version: Text(image, attrVersion), Source: item.Key(Text(image, attrItem)),
		Void: isVoid(image)}
}

// SetTombstone returns the action that writes the tombstone next, on condition that it may replace the stored one
// ([state.Tombstone.Replaces]).
func (db *DB) SetTombstone(t state.Target, row state.Row, next *state.Tombstone) Action {
	return Put(db.table, db.tombstoneItem(db.TombstoneRef(t, row), next), canReplace(next))
}

// tombstoneItem returns a tombstone as it is stored.
func (db *DB) tombstoneItem(ref Ref, next *state.Tombstone) Item {
	item := withAttributes(ref.Key, Item{attrVersion: S(next.Version), attrItem: S(string(next.Source))})
	if next.Void {
		item[attrVoid] = Bool(true)
	}
	db.setExpiry(item)
	return item
}

// CheckTombstone returns the action that checks the condition of SetTombstone and writes nothing.
func (db *DB) CheckTombstone(t state.Target, row state.Row, next *state.Tombstone) Action {
	return Check(db.TombstoneRef(t, row), canReplace(next))
}

// ReplaceTombstone returns the action that replaces a row's tombstone by next, on condition that the expected tombstone
// is stored. If expected is nil, no tombstone may be stored. If next is nil, the action deletes the tombstone. If
// expected and next are the same pointer, the action only checks the condition.
func (db *DB) ReplaceTombstone(t state.Target, row state.Row, expected, next *state.Tombstone) (Action, error) {
	unchanged := notStored
	if expected != nil {
		version, err := record.ParseVersion(expected.Version)
		if err != nil {
			return Action{}, db.Damaged("a tombstone of the view "+t.View, err)
		}
		unchanged = versionUnchanged(version, expected.Void)
	}

	ref := db.TombstoneRef(t, row)
	if next == expected {
		return Check(ref, unchanged), nil
	}
	if next == nil {
		return Delete(ref, unchanged), nil
	}
	return Put(ref.Table, db.tombstoneItem(ref, next), unchanged), nil
}

// canReplace returns the condition that next may replace the stored tombstone, or that none is stored.
func canReplace(next *state.Tombstone) Condition {
	c := Condition{
		Text:         "attribute_not_exists(pk) OR version < :v",
		Values:       Item{":v": S(next.Version)},
		ReturnStored: true,
	}
	if !next.Void {
		c.Text += " OR (version = :v AND attribute_exists(#void))"
		c.Names = map[string]string{"#void": attrVoid}
	}
	return c
}
