package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// epochLetters is the length of an epoch, the random text that identifies one lifetime of a group's row.
//
// Each min, max and distinct of a group's row has one partition of the state table for its members. The sort key of a
// member has three components: the row's epoch, the value, and the ID of the member. The row itself has only the least
// or greatest value, or the number of different values. The row and the members change in one transaction, on condition
// that the row was not written since it was read. So the result of a query of the members is still valid when the row
// is written.
//
// A row that was deleted and recreated has another epoch. So it ignores members that the former row left.
const epochLetters = 10

// NewEpoch returns a random epoch for a row that gets its first member.
func NewEpoch() string { return rand.Text()[:epochLetters] }

// dropPageSize is the number of members that one query of DropMembers reads.
const dropPageSize = 1000

// MemberUpdates applies the changes in members to columns: it sets each changed min, max and distinct to its new value.
// columns are the attributes of a group's row, and epoch is the row's epoch. MemberUpdates returns the actions that put
// or delete the members.
func (db *DB) MemberUpdates(
	ctx context.Context, t state.Target, row state.Row, epoch string, members []state.Member, columns Item,
) (actions []Action, err error) {
	values, err := db.changedValues(t, row, epoch, members)
	if err != nil {
		return nil, err
	}

	for _, v := range values {
		if v.kind == state.Distinct {
			err = v.updateDistinct(ctx, columns)
		} else {
			err = v.updateExtreme(ctx, columns)
		}
		if err != nil {
			return nil, err
		}
		actions = v.appendActions(actions)
	}
	return actions, nil
}

// MemberDeletes returns the actions that delete those members whose Remove is set. It is called for a row that is
// deleted.
func (db *DB) MemberDeletes(
	t state.Target, row state.Row, epoch string, members []state.Member,
) (actions []Action, err error) {
	removed := slices.DeleteFunc(slices.Clone(members), func(m state.Member) bool { return !m.Remove })
	values, err := db.changedValues(t, row, epoch, removed)
	for _, v := range values {
		actions = v.appendActions(actions)
	}
	return actions, err
}

// PutMembers writes members, which are all members of a row with a new epoch. It returns the min, max and distinct
// values that are computed from the members. The caller then writes the row with these values and the epoch. Until then
// no row has the epoch, so PutMembers may write more members than fit into a transaction.
func (db *DB) PutMembers(
	ctx context.Context, t state.Target, row state.Row, epoch string, members []state.Member,
) (columns Item, err error) {
	values, err := db.changedValues(t, row, epoch, members)
	if err != nil {
		return nil, err
	}

	columns = make(Item)
	var puts []Action
	for _, v := range values {
		if columns[v.name], err = v.compute(); err != nil {
			return nil, err
		}
		puts = v.appendActions(puts)
	}
	return columns, db.each(ctx, len(puts), func(i int) error { return db.Write(ctx, puts[i]) })
}

// DropMembers deletes all members of a former epoch of a row. names are the names of the row's min, max and distinct.
func (db *DB) DropMembers(ctx context.Context, t state.Target, row state.Row, epoch string, names []string) error {
	for _, name := range names {
		v := valueMembers{DB: db, partition: db.MemberPartition(t, row, name), epoch: epoch}
		keys, err := seq.Collect(v.listKeys(ctx, valuePrefix(epoch), dropPageSize))
		if err != nil {
			return err
		}
		err = db.each(ctx, len(keys), func(i int) error {
			return db.Write(ctx, Delete(db.ref(v.partition, keys[i]), Condition{}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// valueMembers reads and changes the members of one min, max or distinct of a row.
type valueMembers struct {
	*DB
	target    state.Target
	partition string
	epoch     string
	name      string
	kind      state.MemberKind
	changes   []memberChange
}

// changedValues divides the changes in members by the min, max or distinct that they change, sorted by its name.
func (db *DB) changedValues(
	t state.Target, row state.Row, epoch string, members []state.Member,
) (values []*valueMembers, err error) {
	for _, ofValue := range groupBy(members, func(m *state.Member) string { return m.Name }) {
		changes, err := memberChanges(ofValue, epoch)
		if err != nil {
			return nil, err
		}
		name := ofValue[0].Name
		values = append(values, &valueMembers{DB: db, target: t, partition: db.MemberPartition(t, row, name),
			epoch: epoch, name: name, kind: ofValue[0].Kind, changes: changes})
	}
	return values, nil
}

// groupBy returns the elements of all in groups with equal keys, sorted by key. The elements of a group keep their
// order.
func groupBy[T any](all []T, key func(*T) string) (groups [][]T) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })

	start := 0
	for i := range sorted {
		isLast := i+1 == len(sorted) || key(&sorted[i+1]) != key(&sorted[i])
		if isLast {
			groups = append(groups, sorted[start:i+1])
			start = i + 1
		}
	}
	return groups
}

// listKeys yields the sort keys of the stored members that begin with prefix, in order. For a max the order is
// descending. limit is the number of keys that one request reads.
func (m *valueMembers) listKeys(ctx context.Context, prefix string, limit int) iter.Seq2[string, error] {
	in := m.partitionQuery(m.partition)
	in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
	in.ExpressionAttributeValues[":sk"] = S(prefix)
	in.ProjectionExpression = aws.String("sk")
	in.ScanIndexForward = aws.Bool(m.kind != state.Max)
	in.Limit = aws.Int32(int32(limit))
	return parsed(m.Query(ctx, in), func(item Item) (string, error) { return Text(item, attrSK), nil })
}

// removedKeys returns the sort keys of the members that changes remove.
func removedKeys(changes []memberChange) map[string]bool {
	removed := make(map[string]bool)
	for _, c := range changes {
		if c.remove {
			removed[c.key] = true
		}
	}
	return removed
}

// updateExtreme sets a min or a max. It queries the stored members only if the current min or max is removed.
func (m *valueMembers) updateExtreme(ctx context.Context, columns Item) error {
	extreme, err := sortableOf(columns[m.name])
	if err != nil {
		return m.Damaged("a group's row in table "+m.target.Table, err)
	}

	isRemoved := func(c memberChange) bool { return c.remove && c.value == extreme }
	if slices.ContainsFunc(m.changes, isRemoved) {
		if extreme, err = m.readExtreme(ctx); err != nil {
			return err
		}
	}

	for _, c := range m.changes {
		if !c.remove && m.kind.IsBeyond(c.value, extreme) {
			extreme = c.value
		}
	}
	if extreme == "" {
		delete(columns, m.name)
		return nil
	}

	v, err := state.ParseSortable(extreme)
	if err != nil {
		return m.Damaged("a member of a group", err)
	}
	columns[m.name] = sdkvalue.Of(v)
	return nil
}

// readExtreme returns the min or max of the stored members, without the members that m.changes removes. It returns ""
// if no member is left.
func (m *valueMembers) readExtreme(ctx context.Context) (string, error) {
	removed := removedKeys(m.changes)
	for key, err := range m.listKeys(ctx, valuePrefix(m.epoch), len(removed)+1) {
		if err != nil {
			return "", err
		}
		if !removed[key] {
			return valueIn(key, m.epoch), nil
		}
	}
	return "", nil
}

// sortableOf returns the value of a column as a SortableText; "" if there is none.
func sortableOf(av types.AttributeValue) (string, error) {
	if av == nil {
		return "", nil
	}
	v, err := sdkvalue.Value(av)
	if err != nil {
		return "", err
	}
	text, ok := state.SortableText(v)
	if !ok {
		return "", viewErrs.New("a min or a max is of a type that does not sort")
	}
	return text, nil
}

// updateDistinct sets a distinct. For each value whose members change, it queries the members of that value.
func (m *valueMembers) updateDistinct(ctx context.Context, columns Item) error {
	byValue := groupBy(m.changes, func(c *memberChange) string { return c.value })
	deltas, failed := make([]int64, len(byValue)), make([]error, len(byValue))
	m.Each(len(byValue), func(i int) { deltas[i], failed[i] = m.countDelta(ctx, byValue[i]) })
	if err := cmp.Or(failed...); err != nil {
		return err
	}

	count := int64(0)
	if digits := Digits(columns, m.name); digits != "" {
		var err error
		if count, err = ParseInteger(digits); err != nil {
			return m.Damaged("a group's row in table "+m.target.Table, viewErrs.New("a distinct is no count"))
		}
	}
	for _, delta := range deltas {
		count += delta
	}

	if count <= 0 {
		delete(columns, m.name)
		return nil
	}
	columns[m.name] = N(strconv.FormatInt(count, 10))
	return nil
}

// countDelta returns how much the number of different values changes. changes are the changes of the members with one
// value. The result is 1 if changes add the first member with the value, -1 if they remove the last one, and 0
// otherwise.
func (m *valueMembers) countDelta(ctx context.Context, changes []memberChange) (int64, error) {
	removed := removedKeys(changes)
	existsAfter := slices.ContainsFunc(changes, func(c memberChange) bool { return !c.remove })
	existedBefore := false
	for key, err := range m.listKeys(ctx, membersOfSameValue(changes[0].key), len(removed)+1) {
		if err != nil {
			return 0, err
		}
		existedBefore = true
		existsAfter = existsAfter || !removed[key]
		if existsAfter {
			break // the remaining members change nothing
		}
	}

	switch {
	case existsAfter && !existedBefore:
		return 1, nil
	case existedBefore && !existsAfter:
		return -1, nil
	}
	return 0, nil
}

// appendActions appends the puts and deletes of the members.
func (m *valueMembers) appendActions(dst []Action) []Action {
	for _, c := range m.changes {
		ref := m.ref(m.partition, c.key)
		if c.remove {
			dst = append(dst, Delete(ref, Condition{}))
		} else {
			dst = append(dst, Put(ref.Table, withAttributes(ref.Key, c.hashed), Condition{}))
		}
	}
	return dst
}

// compute returns the min, max or distinct of the members in m.changes. m.changes must contain all its members, and
// remove none.
func (m *valueMembers) compute() (types.AttributeValue, error) {
	texts := make([]string, len(m.changes))
	for i, c := range m.changes {
		texts[i] = c.value
	}
	slices.Sort(texts)
	if m.kind == state.Distinct {
		return N(strconv.Itoa(len(slices.Compact(texts)))), nil
	}

	extreme := texts[0]
	if m.kind == state.Max {
		extreme = texts[len(texts)-1]
	}
	v, err := state.ParseSortable(extreme)
	return sdkvalue.Of(v), err
}
