package dynamo

import (
	"context"
	"iter"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// attrItem is the attribute with the whole key of an item.
const attrItem = "item"

// marks is the kind in the keys of marks. All marks of a pipeline are in one partition. There are few of them, and one
// read shows whether a sink has any.
const marks = "marks"

// markPrefix returns the start of the sort keys of a sink's marks.
func markPrefix(sink string) []byte { return append(item.AppendEscaped(nil, sink), '#') }

func (s *State) markRef(sink string, key item.Key) Ref {
	return s.db.ref(partition(s.pipeline, marks), cutKey(markPrefix(sink), string(key), MaxSortKey))
}

// marksQuery returns the query for the marks of a sink, or of all sinks if sink is "". Marks are sorted by key, except
// that keys with the same first 900 bytes are in no order.
func (s *State) marksQuery(sink string) *dynamodb.QueryInput {
	in := s.db.partitionQuery(partition(s.pipeline, marks))
	if sink != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sink)")
		in.ExpressionAttributeValues[":sink"] = S(string(markPrefix(sink)))
	}
	return in
}

// HasMarks makes one read of at most one item. If the sink has a mark, it makes one more read for each 100 keys.
func (s *State) HasMarks(ctx context.Context, sink string, keys []item.Key) ([]bool, error) {
	marked := make([]bool, len(keys))
	if len(keys) == 0 {
		return marked, nil
	}

	anyMark := s.marksQuery(sink)
	anyMark.Limit = aws.Int32(1)
	if found, err := s.db.hasItem(ctx, anyMark); err != nil || !found {
		return marked, err
	}

	refs := make([]Ref, len(keys))
	for i, k := range keys {
		refs[i] = s.markRef(sink, k)
	}
	items, err := s.db.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i := range items {
		marked[i] = items[i] != nil
	}
	return marked, nil
}

// MarkKeys counts one more dead letter in the mark of each key. If an answer is lost, a dead letter may be counted
// twice. That is harmless, because the number only needs to change with each dead letter.
func (s *State) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	letters := make(map[item.Key]int, len(keys))
	var unique []item.Key
	for _, k := range keys {
		if letters[k] == 0 {
			unique = append(unique, k)
		}
		letters[k]++
	}

	now := nanoseconds(s.db.now())
	return s.db.each(ctx, len(unique), func(i int) error {
		return s.db.Write(ctx, Update(s.markRef(sink, unique[i]),
			"ADD letters :n SET since = if_not_exists(since, :now), sink = :sink, #item = :item", Condition{
				Names: map[string]string{"#item": attrItem},
				Values: Item{":n": N(strconv.Itoa(letters[unique[i]])), ":now": now, ":sink": S(sink),
					":item": S(string(unique[i]))},
			}))
	})
}

// Clear deletes a mark if the stored mark equals m. The attribute since distinguishes m from a later mark of the same
// key. If an answer is lost, Clear may return false although it cleared the mark. The next read then finds no mark.
func (s *State) Clear(ctx context.Context, m state.Mark) (bool, error) {
	return s.db.writeIf(ctx, Delete(s.markRef(m.Sink, m.Key), Condition{
		Text:   "letters = :letters AND since = :since",
		Values: Item{":letters": N(strconv.FormatInt(m.Letters, 10)), ":since": nanoseconds(m.Since)},
	}))
}

// Marks yields the marks page by page. A mark that is written during the read may be missing.
func (s *State) Marks(ctx context.Context, sink string) iter.Seq2[state.Mark, error] {
	return parsed(s.db.Query(ctx, s.marksQuery(sink)), s.mark)
}

func (s *State) mark(image Item) (m state.Mark, err error) {
	err = parseFields(image, []field{{"sink", &m.Sink, always}, {attrItem, &m.Key, always},
		{"letters", &m.Letters, always}, {"since", &m.Since, always}})
	return m, s.db.damagedIf(err, "a mark of the sink "+m.Sink)
}
