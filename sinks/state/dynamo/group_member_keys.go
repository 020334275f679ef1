package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// maxValueBytes and maxIDBytes limit the escaped value and the ID in a sort key. A sort key has at most 1024 bytes. A
// longer ID is hashed, and so is a longer value of a distinct. A longer value of a min or max is an error, because
// hashes do not sort.
const (
	maxValueBytes = 720
	maxIDBytes    = 256
)

// These attributes have the value and the ID of a member if the sort key has only their hashes.
const (
	attrMemberValue = "value"
	attrMemberID    = "id"
)

// memberChange adds or removes a member, identified by its sort key.
type memberChange struct {
	key    string
	value  string // state.SortableText
	remove bool
	// If the sort key has only the hash of the value or the ID, hashed has the whole text as attrMemberValue or
	// attrMemberID. Otherwise hashed is nil
	hashed Item
}

// memberChanges returns the changes of the members of one min, max or distinct. If several changes concern one member,
// the last change counts.
func memberChanges(members []state.Member, epoch string) ([]memberChange, error) {
	positions := make(map[string]int, len(members)) // sort key -> position in changes
	var changes []memberChange
	for i := range members {
		change, err := newMemberChange(&members[i], epoch)
		if err != nil {
			return nil, err
		}

		if earlier, ok := positions[change.key]; ok {
			changes[earlier] = change
			continue
		}
		positions[change.key] = len(changes)
		changes = append(changes, change)
	}
	return changes, nil
}

func newMemberChange(m *state.Member, epoch string) (memberChange, error) {
	value := valueEscaper.Replace(m.Value)
	id := m.ID
	var hashed Item

	if len(value) > maxValueBytes {
		if m.Kind != state.Distinct {
			return memberChange{}, viewErrs.Errorf(
				"dynamodb: %s is of a value of %d bytes, and DynamoDB sorts by %d at most: leave such items out in `when`, or make it of another attribute",
				redact.Field(m.Name), len(m.Value), maxValueBytes)
		}
		value = "~" + hexDigest(m.Value) // a SortableText begins with a letter, never with ~
		hashed = Item{attrMemberValue: S(m.Value)}
	}

	if len(id) > maxIDBytes {
		id = "#" + hexDigest(m.ID) // no item key begins with #
		hashed = withAttributes(hashed, Item{attrMemberID: S(m.ID)})
	}

	key := valuePrefix(epoch) + value + valueEnd + id
	return memberChange{key: key, value: m.Value, remove: m.Remove, hashed: hashed}, nil
}

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// valuePrefix returns the text before the value in a sort key.
func valuePrefix(epoch string) string { return epoch + "#" }

// valueEnd follows the value in a sort key. No escaped value contains it, and it sorts before all other bytes. So "a"
// sorts before "ab".
const valueEnd = "\x00"

var (
	valueEscaper   = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	valueUnescaper = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

// valueIn returns the value in a sort key.
func valueIn(key, epoch string) string {
	value, _, _ := strings.Cut(strings.TrimPrefix(key, valuePrefix(epoch)), valueEnd)
	return valueUnescaper.Replace(value)
}

// membersOfSameValue returns the start of the sort keys of all members that have the same value as the member with this
// sort key.
func membersOfSameValue(key string) string {
	return key[:strings.Index(key, valueEnd)+len(valueEnd)]
}
