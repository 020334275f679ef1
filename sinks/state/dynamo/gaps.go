package dynamo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// attrRepair holds the repair of a gap ([state.GapRepair.Text]), which contains the version of the gap's record.
const attrRepair = "repair"

// AddGap records a gap, or changes the record of a gap with the same beginning. It repeats its conditional write until
// no other process is faster.
func (s *State) AddGap(ctx context.Context, g record.Gap) error {
	for {
		image, err := s.db.getOne(ctx, s.gapRef(g))
		if err != nil {
			return err
		}
		next := state.NewNotedGap(g, s.db.now())
		if image != nil {
			stored, err := s.gap(image)
			if err != nil {
				return err
			}
			next = stored.Again(g, s.db.now())
		}
		if done, err := s.replaceGap(ctx, image, next); done || err != nil {
			return err
		}
	}
}

// SetGapRepair makes one write on the condition that the record is unchanged.
func (s *State) SetGapRepair(ctx context.Context, g record.Gap, r state.GapRepair) (bool, error) {
	image, err := s.db.getOne(ctx, s.gapRef(g))
	if err != nil || image == nil {
		return false, err
	}
	stored, err := s.gap(image)
	if err != nil {
		return false, err
	}
	next, ok := stored.SetRepair(r)
	if !ok {
		return false, nil
	}
	if done, err := s.replaceGap(ctx, image, next); done || err != nil {
		return done, err
	}
	// The first answer may have been lost: then the condition failed on the write itself.
	if image, err = s.db.getOne(ctx, s.gapRef(g)); err != nil || image == nil {
		return false, err
	}
	return Text(image, attrRepair) == next.Repair.Text(), nil
}

// replaceGap writes the record of a gap if the stored one is still was; nil means that there is none. It returns false if
// there is another.
func (s *State) replaceGap(ctx context.Context, was Item, now state.NotedGap) (bool, error) {
	condition := Condition{Text: "attribute_not_exists(pk)"}
	if was != nil {
		condition = unchanged(was, []string{attrRepair})
	}
	image := with(s.gapRef(now.Gap).Key, gapItem(now))
	if n := SizeOfItem(image); n > MaxItem {
		return false, TooLarge("the record of a gap", n)
	}
	return s.db.writeIf(ctx, Put(s.db.table, image, condition))
}

func (s *State) gapRef(g record.Gap) Ref {
	sum := sha256.Sum256([]byte(g.StreamARN + "\x00" + g.Shard + "\x00" + g.After))
	return s.db.noteRef(s.pipeline, "gaps", hex.EncodeToString(sum[:]))
}

func gapItem(g state.NotedGap) Item {
	item := Item{"stream": S(g.StreamARN), "shard": S(g.Shard), "after": S(g.After), "before": S(g.Before), attrRepair: S(g.Repair.Text())}
	if g.Whole {
		item["whole"] = Bool(true)
	}
	if g.UnknownExtent {
		item["unknown"] = Bool(true)
	}
	setTime(item, "from", g.From)
	setTime(item, "to", g.To)
	setTime(item, "found", g.Found)
	return item
}

// Gaps reads all gaps before it yields the first, to sort them. A pipeline has few.
func (s *State) Gaps(ctx context.Context) iter.Seq2[state.NotedGap, error] {
	return sorted(notes(ctx, s, "gaps", s.gap), func(a, b state.NotedGap) int {
		return cmp.Or(a.Found.Compare(b.Found), strings.Compare(a.StreamARN, b.StreamARN), strings.Compare(a.Shard, b.Shard), record.CompareSequence(a.After, b.After))
	})
}

func (s *State) gap(item Item) (state.NotedGap, error) {
	a := attributes{item: item}
	g := state.NotedGap{Gap: record.Gap{
		StreamARN: a.text("stream"), Shard: a.text("shard"), After: a.text("after"), Before: a.text("before"),
		Whole: a.flag("whole"), UnknownExtent: a.flag("unknown"), From: a.time("from"), To: a.time("to"), Found: a.time("found"),
	}}
	repair, err := state.ParseGapRepair(a.text(attrRepair))
	a.note(err)
	g.Repair = repair
	return g, a.damaged(s.db, "a gap of the shard "+g.Shard)
}

// isTrue reports whether an attribute is BOOL true.
func isTrue(item Item, name string) bool {
	b, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}
