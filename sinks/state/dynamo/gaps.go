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
	for name, t := range map[string]time.Time{"from": g.From, "to": g.To, "found": g.Found} {
		if !t.IsZero() {
			item[name] = nanoseconds(t)
		}
	}
	return s.db.put(ctx, s.db.noteRef(s.pipeline, "gaps", hex.EncodeToString(sum[:])), item)
}

// Gaps reads all gaps before it yields the first, to sort them. A pipeline has few.
func (s *State) Gaps(ctx context.Context) iter.Seq2[record.Gap, error] {
	return sorted(notes(ctx, s, "gaps", s.gap), func(a, b record.Gap) int {
		return cmp.Or(a.Found.Compare(b.Found), strings.Compare(a.StreamARN, b.StreamARN), strings.Compare(a.Shard, b.Shard), record.CompareSequence(a.After, b.After))
	})
}

func (s *State) gap(item Item) (g record.Gap, err error) {
	g = record.Gap{StreamARN: Text(item, "stream"), Shard: Text(item, "shard"), After: Text(item, "after"), Before: Text(item, "before")}
	g.Whole, g.UnknownExtent = isTrue(item, "whole"), isTrue(item, "unknown")
	if g.From, err = timeAt(item, "from"); err == nil {
		g.To, err = timeAt(item, "to")
	}
	if err == nil {
		g.Found, err = timeAt(item, "found")
	}
	if err != nil {
		err = s.db.Damaged("a gap of the shard "+g.Shard, err)
	}
	return g, err
}

// isTrue reports whether an attribute is BOOL true.
func isTrue(item Item, name string) bool {
	b, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}
