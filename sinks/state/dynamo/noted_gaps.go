package dynamo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// attrRepair is the attribute with the repair of a gap ([state.GapRepair.Text]). A gap is a range of records that were
// lost before they were read. The repair contains the version of the gap's record.
const attrRepair = "repair"

// AddGap records a gap, or changes the record of a gap with the same beginning. If another process changes the record
// first, AddGap reads it again and repeats its write.
func (s *State) AddGap(ctx context.Context, g record.Gap) error {
	for {
		stored, image, err := s.readGap(ctx, g)
		if err != nil {
			return err
		}
		written, err := s.replaceGap(ctx, image, stored.NotedAgain(g, s.db.now()))
		if written || err != nil {
			return err
		}
	}
}

// SetGapRepair makes one write, on condition that the stored record is still the one that it read.
func (s *State) SetGapRepair(ctx context.Context, g record.Gap, r state.GapRepair) (bool, error) {
	stored, image, err := s.readGap(ctx, g)
	if err != nil {
		return false, err
	}
	next, isCurrent := stored.SetRepair(r)
	if !isCurrent {
		return false, nil
	}
	if written, err := s.replaceGap(ctx, image, next); written || err != nil {
		return written, err
	}

	// A write is repeated if its answer is lost. The repeated write then finds the record of the first write, and its
	// condition is not met.
	image, err = s.db.getOne(ctx, s.gapRef(g))
	return err == nil && Text(image, attrRepair) == next.Repair.Text(), err
}

// readGap reads the record of the gap with the beginning of g. image is the record as it is stored. Both are zero if no
// record is stored.
func (s *State) readGap(ctx context.Context, g record.Gap) (stored state.NotedGap, image Item, err error) {
	image, err = s.db.getOne(ctx, s.gapRef(g))
	if err == nil && image != nil {
		stored, err = s.gap(image)
	}
	return stored, image, err
}

// replaceGap writes next, the record of a gap, on condition that the stored record is still expected. If expected is
// nil, no record may be stored. It returns false if the condition is not met.
func (s *State) replaceGap(ctx context.Context, expected Item, next state.NotedGap) (bool, error) {
	condition := notStored
	if expected != nil {
		condition = Condition{Text: "#repair = :repair", Names: map[string]string{"#repair": attrRepair},
			Values: Item{":repair": expected[attrRepair]}}
	}

	image := withFields(s.gapRef(next.Gap).Key, gapFields(&next.Gap))
	image[attrRepair] = S(next.Repair.Text())
	if n := SizeOfItem(image); n > MaxItem {
		return false, TooLarge("the record of a gap", n)
	}
	return s.db.writeIf(ctx, Put(s.db.table, image, condition))
}

func (s *State) gapRef(g record.Gap) Ref {
	sum := sha256.Sum256([]byte(g.StreamARN + "\x00" + g.Shard + "\x00" + g.After))
	return s.db.noteRef(s.pipeline, "gaps", hex.EncodeToString(sum[:]))
}

func gapFields(g *record.Gap) []field {
	return []field{
		{"stream", &g.StreamARN, always}, {"shard", &g.Shard, always}, {"after", &g.After, always},
		{"before", &g.Before, always}, {"whole", &g.Whole, unlessZero}, {"unknown", &g.UnknownExtent, unlessZero},
		{"from", &g.From, unlessZero}, {"to", &g.To, unlessZero}, {"found", &g.Found, unlessZero},
	}
}

// Gaps reads all gaps before it yields the first, to sort them. A pipeline has few gaps.
func (s *State) Gaps(ctx context.Context) iter.Seq2[state.NotedGap, error] {
	return sorted(readNotes(ctx, s, "gaps", s.gap), func(a, b state.NotedGap) int {
		return cmp.Or(a.Found.Compare(b.Found), strings.Compare(a.StreamARN, b.StreamARN), strings.Compare(a.Shard, b.Shard),
			record.CompareSequence(a.After, b.After))
	})
}

func (s *State) gap(item Item) (g state.NotedGap, err error) {
	fieldErr := parseFields(item, gapFields(&g.Gap))
	g.Repair, err = state.ParseGapRepair(Text(item, attrRepair))
	return g, s.db.damagedIf(cmp.Or(fieldErr, err), "a gap of the shard "+g.Shard)
}
