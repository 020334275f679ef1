package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
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

// maxValueBytes and maxIDBytes limit the escaped value and the ID in a sort key. A sort key has at most 1024 bytes. A
// longer ID is hashed, and so is a longer value of a distinct. A longer value of a min or max is an error, because
// hashes do not sort.
const (
	maxValueBytes = 720
	maxIDBytes    = 256
)

// dropPageSize is the number of members that one query of DropMembers reads.
const dropPageSize = 1000

// Attributes of a member whose value or ID is only in the sort key as a hash.
const (
	attrMemberValue = "value"
	attrMemberID    = "id"
)

// memberChange adds or removes a member, identified by its sort key.
type memberChange struct {
	key    string
	value  string // state.SortableText
	remove bool
	// hashed has attrMemberValue and attrMemberID of the texts that the sort key has only as a hash. It is nil if the
	// sort key has both texts
	hashed Item
}

// memberChanges returns the changes of the members of one value. If ms has several changes of a member, the last one
// counts.
func memberChanges(ms []state.Member, epoch string) ([]memberChange, error) {
	index := make(map[string]int, len(ms))
	var changes []memberChange
	for i := range ms {
		m := &ms[i]
		prefix, err := memberPrefix(epoch, m)
		if err != nil {
			return nil, err
		}
		c := memberChange{key: prefix + idText(m.ID), value: m.Value, remove: m.Remove, hashed: hashedTexts(prefix, m)}
		if j, ok := index[c.key]; ok {
			changes[j] = c
			continue
		}
		index[c.key] = len(changes)
		changes = append(changes, c)
	}
	return changes, nil
}

// memberPrefix returns the sort key of a member without its ID. Equal values have the same prefix.
func memberPrefix(epoch string, m *state.Member) (string, error) {
	value := valueEscaper.Replace(m.Value)
	if len(value) > maxValueBytes {
		if m.Kind != state.Distinct {
			return "", viewErrs.Errorf(
				"dynamodb: %s is of a value of %d bytes, and DynamoDB sorts by %d at most: leave such items out in `when`, or make it of another attribute",
				redact.Field(m.Name), len(m.Value), maxValueBytes)
		}
		sum := sha256.Sum256([]byte(m.Value))
		value = "~" + hex.EncodeToString(sum[:]) // a SortableText begins with a letter, never with ~
	}
	return epoch + "#" + value + "\x00", nil
}

// hashedTexts returns attributes with the value and the ID of a member, as far as its sort key has only their hashes.
// It returns nil if the sort key has both texts. prefix is the result of memberPrefix.
func hashedTexts(prefix string, m *state.Member) Item {
	var hashed Item
	if _, value, _ := strings.Cut(prefix, "#"); strings.HasPrefix(value, "~") {
		hashed = Item{attrMemberValue: S(m.Value)}
	}
	if len(m.ID) > maxIDBytes {
		hashed = withAttributes(hashed, Item{attrMemberID: S(m.ID)})
	}
	return hashed
}

// A value in a sort key is followed by \x00. No escaped value contains \x00, and it sorts before all other bytes. So
// "a" sorts before "ab".
var (
	valueEscaper   = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	valueUnescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

func idText(id string) string {
	if len(id) <= maxIDBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "#" + hex.EncodeToString(sum[:]) // no item key begins with #
}

// valueIn returns the value in a sort key.
func valueIn(key, epoch string) string {
	value, _, _ := strings.Cut(strings.TrimPrefix(key, epoch+"#"), "\x00")
	return valueUnescaper.Replace(value)
}

// UpdateMembers sets each min, max and distinct in values to its value after the changes ms. values are the attributes
// of a group's row. UpdateMembers returns the actions that put or delete the members. epoch is the row's epoch.
func (db *DB) UpdateMembers(
	ctx context.Context, t state.Target, row state.Row, epoch string, ms []state.Member, values Item,
) (actions []Action, err error) {
	err = db.forEachValue(t, row, epoch, ms, func(m *valueMembers, name string) error {
		if m.kind == state.Distinct {
			err = m.updateDistinct(ctx, values, name)
		} else {
			err = m.updateExtreme(ctx, values, name)
		}
		actions = m.actions(actions)
		return err
	})
	return actions, err
}

// DeleteMembers returns the actions that delete the members that ms removes. It is for a row that is deleted.
func (db *DB) DeleteMembers(
	t state.Target, row state.Row, epoch string, ms []state.Member,
) (actions []Action, err error) {
	removed := slices.DeleteFunc(slices.Clone(ms), func(m state.Member) bool { return !m.Remove })
	err = db.forEachValue(t, row, epoch, removed, func(m *valueMembers, _ string) error {
		actions = m.actions(actions)
		return nil
	})
	return actions, err
}

// forEachValue calls do for each min, max and distinct of a row whose members change.
func (db *DB) forEachValue(
	t state.Target, row state.Row, epoch string, ms []state.Member, do func(m *valueMembers, name string) error,
) error {
	ms = slices.SortedStableFunc(slices.Values(ms), func(a, b state.Member) int { return strings.Compare(a.Name, b.Name) })
	for len(ms) > 0 {
		name, n := ms[0].Name, 1
		for n < len(ms) && ms[n].Name == name {
			n++
		}
		changes, err := memberChanges(ms[:n], epoch)
		if err == nil {
			partition := db.MemberPartition(t, row, name)
			err = do(&valueMembers{DB: db, target: t, partition: partition, epoch: epoch, kind: ms[0].Kind, changes: changes},
				name)
		}
		if err != nil {
			return err
		}
		ms = ms[n:]
	}
	return nil
}

// valueMembers reads and changes the members of one value of a row.
type valueMembers struct {
	*DB
	target    state.Target
	partition string
	epoch     string
	kind      state.MemberKind
	changes   []memberChange
}

// query calls do with each sort key that begins with prefix, in order, until do returns false. For a max the order is
// descending. limit is the number of keys that one request reads.
func (m *valueMembers) query(ctx context.Context, prefix string, limit int, do func(key string) bool) error {
	in := m.partitionQuery(m.partition)
	in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
	in.ExpressionAttributeValues[":sk"] = S(prefix)
	in.ProjectionExpression = aws.String("sk")
	in.ScanIndexForward = aws.Bool(m.kind != state.Max)
	in.Limit = aws.Int32(int32(limit))
	for item, err := range m.Query(ctx, in) {
		if err != nil {
			return err
		}
		if !do(Text(item, "sk")) {
			break
		}
	}
	return nil
}

// updateExtreme sets a min or a max. It queries the stored members only if the current min or max is removed.
func (m *valueMembers) updateExtreme(ctx context.Context, columns Item, name string) error {
	best, err := sortableOf(columns[name])
	if err != nil {
		return m.Damaged("a group's row in table "+m.target.Table, err)
	}
	removed := make(map[string]bool)
	bestRemoved := false
	for _, c := range m.changes {
		if c.remove {
			removed[c.key] = true
			bestRemoved = bestRemoved || c.value == best
		}
	}
	if bestRemoved {
		if best, err = m.readExtreme(ctx, removed); err != nil {
			return err
		}
	}
	for _, c := range m.changes {
		if !c.remove && (best == "" || (m.kind == state.Min) == (c.value < best)) {
			best = c.value
		}
	}
	if best == "" {
		delete(columns, name)
		return nil
	}
	v, err := state.ParseSortable(best)
	if err != nil {
		return m.Damaged("a member of a group", err)
	}
	columns[name] = sdkvalue.Of(v)
	return nil
}

// readExtreme returns the stored min or max without the removed members; "" if none is left.
func (m *valueMembers) readExtreme(ctx context.Context, removed map[string]bool) (best string, err error) {
	err = m.query(ctx, m.epoch+"#", len(removed)+1, func(key string) bool {
		if removed[key] {
			return true
		}
		best = valueIn(key, m.epoch)
		return false
	})
	return best, err
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
func (m *valueMembers) updateDistinct(ctx context.Context, columns Item, name string) error {
	byValue := slices.Clone(m.changes)
	slices.SortStableFunc(byValue, func(a, b memberChange) int { return strings.Compare(a.value, b.value) })
	var values [][]memberChange
	for len(byValue) > 0 {
		n := 1
		for n < len(byValue) && byValue[n].value == byValue[0].value {
			n++
		}
		values, byValue = append(values, byValue[:n]), byValue[n:]
	}
	delta, failed := make([]int64, len(values)), make([]error, len(values))
	m.Each(len(values), func(i int) { delta[i], failed[i] = m.valueChange(ctx, values[i]) })
	if err := cmp.Or(failed...); err != nil {
		return err
	}
	total := int64(0)
	if digits := Digits(columns, name); digits != "" {
		var err error
		if total, err = ParseInteger(digits); err != nil {
			return m.Damaged("a group's row in table "+m.target.Table, viewErrs.New("a distinct is no count"))
		}
	}
	for _, n := range delta {
		total += n
	}
	if total <= 0 {
		delete(columns, name)
		return nil
	}
	columns[name] = N(strconv.FormatInt(total, 10))
	return nil
}

// valueChange returns by how much the changes of the members of one value change the number of different values. It is
// 1 if they add the first member of the value, -1 if they remove the last one, and 0 otherwise.
func (m *valueMembers) valueChange(ctx context.Context, changes []memberChange) (int64, error) {
	prefix := changes[0].key[:strings.IndexByte(changes[0].key, 0)+1]
	removed := make(map[string]bool, len(changes))
	existsAfter := false
	for _, c := range changes {
		if c.remove {
			removed[c.key] = true
		} else {
			existsAfter = true
		}
	}
	existedBefore := false
	err := m.query(ctx, prefix, len(removed)+1, func(key string) bool {
		existedBefore = true
		existsAfter = existsAfter || !removed[key]
		return !existsAfter
	})
	switch {
	case err != nil:
		return 0, err
	case existsAfter && !existedBefore:
		return 1, nil
	case existedBefore && !existsAfter:
		return -1, nil
	}
	return 0, nil
}

// actions appends the puts and deletes of the members.
func (m *valueMembers) actions(dst []Action) []Action {
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

// PutMembers writes all members of a row that will get the epoch, and returns the row's values that are computed from
// them. It may write more members than fit into a transaction, because no row has the epoch yet.
func (db *DB) PutMembers(
	ctx context.Context, t state.Target, row state.Row, epoch string, ms []state.Member,
) (values Item, err error) {
	values = make(Item)
	var puts []Action
	err = db.forEachValue(t, row, epoch, ms, func(m *valueMembers, name string) error {
		puts = m.actions(puts)
		v, err := m.value()
		values[name] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return values, db.each(ctx, len(puts), func(i int) error { return db.Write(ctx, puts[i]) })
}

// value returns the min, max or distinct of the members in m.changes. m.changes must contain all members of the value,
// and remove none.
func (m *valueMembers) value() (types.AttributeValue, error) {
	texts := make([]string, len(m.changes))
	for i, c := range m.changes {
		texts[i] = c.value
	}
	slices.Sort(texts)
	best := texts[0]
	switch m.kind {
	case state.Distinct:
		return N(strconv.Itoa(len(slices.Compact(texts)))), nil
	case state.Max:
		best = texts[len(texts)-1]
	}
	v, err := state.ParseSortable(best)
	return sdkvalue.Of(v), err
}

// DropMembers deletes all members of a former epoch of a row. names are the names of their values.
func (db *DB) DropMembers(ctx context.Context, t state.Target, row state.Row, epoch string, names []string) error {
	for _, name := range names {
		m := valueMembers{DB: db, target: t, partition: db.MemberPartition(t, row, name), epoch: epoch}
		var keys []string
		err := m.query(ctx, epoch+"#", dropPageSize, func(key string) bool {
			keys = append(keys, key)
			return true
		})
		if err == nil {
			err = db.each(ctx, len(keys), func(i int) error {
				return db.Write(ctx, Delete(db.ref(m.partition, keys[i]), Condition{}))
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
