package dynamo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/record"
)

// AddGap records a gap. It replaces the record of a gap with the same beginning.
func (s *State) AddGap(ctx context.Context, g record.Gap) error {
	if g.Found.IsZero() {
		g.Found = time.Now()
	}
	sum := sha256.Sum256([]byte(g.StreamARN + "\x00" + g.Shard + "\x00" + g.After))
	item := Item{"stream": S(g.StreamARN), "shard": S(g.Shard), "after": S(g.After), "before": S(g.Before)}
	if g.Whole {
		item["whole"] = Bool(true)
	}
	if g.UnknownExtent {
		item["unknown"] = Bool(true)
	}
	setTime(item, "from", g.From)
	setTime(item, "to", g.To)
	setTime(item, "found", g.Found)
	return s.db.put(ctx, s.db.noteRef(s.pipeline, "gaps", hex.EncodeToString(sum[:])), item)
}

// Gaps reads all gaps before it yields the first, to sort them. A pipeline has few.
func (s *State) Gaps(ctx context.Context) iter.Seq2[record.Gap, error] {
	return sorted(notes(ctx, s, "gaps", s.gap), func(a, b record.Gap) int {
		return cmp.Or(a.Found.Compare(b.Found), strings.Compare(a.StreamARN, b.StreamARN), strings.Compare(a.Shard, b.Shard), record.CompareSequence(a.After, b.After))
	})
}

func (s *State) gap(item Item) (record.Gap, error) {
	a := attributes{item: item}
	g := record.Gap{
		StreamARN: a.text("stream"), Shard: a.text("shard"), After: a.text("after"), Before: a.text("before"),
		Whole: a.flag("whole"), UnknownExtent: a.flag("unknown"), From: a.time("from"), To: a.time("to"), Found: a.time("found"),
	}
	return g, a.damaged(s.db, "a gap of the shard "+g.Shard)
}

// isTrue reports whether an attribute is BOOL true.
func isTrue(item Item, name string) bool {
	b, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}
