package dynamo

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Attributes of guards, contributions and tombstones.
const (
	attrVersion = "version"
	attrVoid    = "void"   // BOOL, present if the change could not be applied; a reserved word
	attrRow     = "row"    // in a guard: the row that the item claims
	attrShares  = "shares" // B, in a contribution: state.Contribution.AppendShares
)

// Guards reads the guards of items, 100 in a request.
func (db *DB) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return readRemembered(ctx, db, t, items, db.GuardRef, "a guard of the view "+t.View, parseGuard)
}

// Contributions reads the contributions of items, 100 in a request.
func (db *DB) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return readRemembered(ctx, db, t, items, db.ContributionRef, "a contribution", parseContribution)
}

func parseGuard(found Item) (g state.Guard, err error) {
	g.Row, g.Void = state.Row(Text(found, attrRow)), isVoid(found)
	g.Version, err = record.ParseVersion(Text(found, attrVersion))
	return g, err
}

func parseContribution(found Item) (state.Contribution, error) {
	version, err := record.ParseVersion(Text(found, attrVersion))
	if err != nil {
		return state.Contribution{}, err
	}
	var shares types.AttributeValueMemberB
	if b, ok := found[attrShares].(*types.AttributeValueMemberB); ok {
		shares = *b
	}
	c, err := state.ParseContribution(version, shares.Value)
	c.Void = isVoid(found)
	return c, err
}

// readRemembered reads the guards or contributions of items; the zero T for an item without one. If one is missing, it
// checks that the state was not exchanged since the process began: only then is the item a new one.
func readRemembered[T any](
	ctx context.Context, db *DB, t state.Target, items []item.Key, ref func(state.Target, item.Key) Ref, what string, parse func(Item) (T, error),
) ([]T, error) {
	refs := make([]Ref, len(items))
	for i, item := range items {
		refs[i] = ref(t, item)
	}
	found, err := db.Get(ctx, refs)
	if err == nil && slices.ContainsFunc(found, func(item Item) bool { return item == nil }) {
		err = db.CheckState(ctx, t)
	}
	if err != nil {
		return nil, err
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

// SetContribution returns the action that replaces a contribution, on the condition that the stored one is as expected.
func (db *DB) SetContribution(t state.Target, w *state.ContributionWrite) (Action, error) {
	shares := &types.AttributeValueMemberB{Value: w.Now.AppendShares(nil)}
	item := rememberedItem(db.ContributionRef(t, w.Source), w.Source, Item{attrShares: shares})
	if len(w.Now.Shares) == 0 {
		db.stamp(item)
	}
	setVersion(item, w.Now.Version, w.Now.Void)
	if n := SizeOfItem(item); n > MaxItem {
		return Action{}, viewErrs.Errorf("dynamodb: the keys of the rows or groups of the item would be an item of %d bytes "+
			"in the state table, and DynamoDB takes at most 400 KB (%d): make these keys shorter, or split the item", n, MaxItem)
	}
	return Put(db.table, item, over(w.Was, w.WasVoid)), nil
}

// ExpectShares adds the condition to the action of SetContribution that the stored shares are those that w expects. It
// reads the contribution, because the shares are stored with Since. It returns false if others are stored.
func (db *DB) ExpectShares(ctx context.Context, t state.Target, w *state.ContributionWrite, a Action) (bool, error) {
	stored, err := db.getOne(ctx, db.ContributionRef(t, w.Source))
	if err != nil {
		return false, err
	}
	if stored == nil {
		return w.Expects(state.Contribution{}), nil
	}
	c, err := parseContribution(stored)
	if err != nil {
		return false, db.Damaged("a contribution", err)
	}
	if !w.Expects(c) {
		return false, nil
	}
	*a.Put.ConditionExpression += " AND #shares = :shares"
	a.Put.ExpressionAttributeNames["#shares"] = attrShares
	a.Put.ExpressionAttributeValues[":shares"] = stored[attrShares]
	return true, nil
}

// ReplaceContribution returns the action that replaces a contribution, on the condition that was is stored as it is, with
// its shares; zero: none is stored.
func (db *DB) ReplaceContribution(t state.Target, source item.Key, was, now state.Contribution) (Action, error) {
	a, err := db.SetContribution(t, &state.ContributionWrite{Source: source, Was: was.Version, WasVoid: was.Void, Now: now})
	if err != nil || was.Version.IsZero() {
		return a, err
	}
	*a.Put.ConditionExpression += " AND #shares = :shares"
	a.Put.ExpressionAttributeNames["#shares"] = attrShares
	a.Put.ExpressionAttributeValues[":shares"] = &types.AttributeValueMemberB{Value: was.AppendShares(nil)}
	return a, nil
}

// setGuard returns the action that replaces a guard, on the condition of its version. A guard without a row expires.
func (db *DB) setGuard(t state.Target, source item.Key, was record.Version, wasVoid bool, now state.Guard) Action {
	item := rememberedItem(db.GuardRef(t, source), source, Item{attrRow: S(string(now.Row))})
	if now.Row == "" {
		db.stamp(item)
	}
	setVersion(item, now.Version, now.Void)
	return Put(db.table, item, over(was, wasVoid))
}

// rememberedItem returns the guard or the contribution of an item. It has the item's key as an attribute if the key
// was cut in ref, so that a listing finds it.
func rememberedItem(ref Ref, source item.Key, rest Item) Item {
	found := with(ref.Key, rest)
	if !strings.HasSuffix(Text(ref.Key, attrPK), string(source)) {
		found[attrItem] = S(string(source))
	}
	return found
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

// over is the condition that the stored guard or contribution has a version and is void or not.
func over(was record.Version, void bool) Condition {
	if was.IsZero() {
		return Condition{Text: "attribute_not_exists(pk)"}
	}
	c := Condition{
		Text:   "version = :was AND attribute_not_exists(#void)",
		Names:  map[string]string{"#void": attrVoid},
		Values: Item{":was": S(was.String())},
	}
	if void {
		c.Text = "version = :was AND attribute_exists(#void)"
	}
	return c
}

// Tombstone marks a removed row. It is stored apart from the table of rows.
type Tombstone struct {
	Version string
	Source  item.Key // the item that had the row
	Void    bool     // no row could be made of the change
	Expires time.Time
}

// Tombstones reads the tombstones of rows, 100 in a request; nil for a row without one.
func (db *DB) Tombstones(ctx context.Context, t state.Target, rows []state.Row) ([]*Tombstone, error) {
	refs := make([]Ref, len(rows))
	for i, row := range rows {
		refs[i] = db.TombstoneRef(t, row)
	}
	found, err := db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	all := make([]*Tombstone, len(rows))
	for i, item := range found {
		if item == nil {
			continue
		}
		all[i] = tombstoneOf(item)
		if all[i].Expires, err = expires(item); err != nil {
			return nil, db.Damaged("a tombstone of the view "+t.View, err)
		}
	}
	return all, nil
}

func tombstoneOf(image Item) *Tombstone {
	return &Tombstone{Version: Text(image, attrVersion), Source: item.Key(Text(image, attrItem)), Void: isVoid(image)}
}

// TombstoneItem returns the item of a stored tombstone.
func TombstoneItem(stored Item) item.Key { return tombstoneOf(stored).Source }

// SetTombstone returns the action that writes a tombstone, unless the stored one is newer. A stored one of the same
// version is replaced only if it is void and now is not.
func (db *DB) SetTombstone(t state.Target, row state.Row, now Tombstone) Action {
	return Put(db.table, db.tombstoneItem(db.TombstoneRef(t, row), &now), now.canReplace())
}

// tombstoneItem returns a tombstone as it is stored.
func (db *DB) tombstoneItem(ref Ref, now *Tombstone) Item {
	item := with(ref.Key, Item{attrVersion: S(now.Version), attrItem: S(string(now.Source))})
	if now.Void {
		item[attrVoid] = Bool(true)
	}
	db.stamp(item)
	return item
}

// CheckTombstone returns the action that checks that SetTombstone would write.
func (db *DB) CheckTombstone(t state.Target, row state.Row, now Tombstone) Action {
	return Check(db.TombstoneRef(t, row), now.canReplace())
}

// ReplaceTombstone returns the action that replaces the tombstone was of a row by now, on the condition that was is still
// stored; nil means no tombstone. If both are the same pointer, the action only checks the condition.
func (db *DB) ReplaceTombstone(t state.Target, row state.Row, was, now *Tombstone) (Action, error) {
	unchanged := over(record.Version{}, false)
	if was != nil {
		version, err := record.ParseVersion(was.Version)
		if err != nil {
			return Action{}, db.Damaged("a tombstone of the view "+t.View, err)
		}
		unchanged = over(version, was.Void)
	}
	ref := db.TombstoneRef(t, row)
	switch now {
	case was:
		return Check(ref, unchanged), nil
	case nil:
		return Delete(ref, unchanged), nil
	}
	return Put(ref.Table, db.tombstoneItem(ref, now), unchanged), nil
}

// canReplace is the condition that the stored tombstone may be replaced by now.
func (now Tombstone) canReplace() Condition {
	c := Condition{Text: "attribute_not_exists(pk) OR version < :v", Values: Item{":v": S(now.Version)}, Old: true}
	if !now.Void {
		c.Text += " OR (version = :v AND attribute_exists(#void))"
		c.Names = map[string]string{"#void": attrVoid}
	}
	return c
}

// CompareStored explains a refusal of SetTombstone or CheckTombstone by the stored item. changed means that the stored
// tombstone could be replaced, so that it was written after it was read. newer means that it has a newer version.
func (now Tombstone) CompareStored(stored Item) (changed, newer bool) {
	old := tombstoneOf(stored)
	changed = old.Version < now.Version || old.Version == now.Version && old.Void && !now.Void
	return changed, !changed && old.Version != now.Version
}
