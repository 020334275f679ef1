package audit

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// Repair writes the document of a finding. If the document should not exist, it writes a tombstone.
func (s *documentSink) Repair(ctx context.Context, known *ItemState, f Finding) (Outcome, error) {
	present, done, err := s.compareAgain(ctx, s, known, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	index, routing, id, err := parseDocumentPlace(f.Place)
	if err != nil {
		return Outcome{}, err
	}
	stored, err := s.readStored(ctx, index, routing, id)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: document %s: %w", s.spec.Name, present.PlaceText, err)
	}
	if stored.Version != present.Version {
		return Outcome{Result: ChangedMeanwhile}, nil
	}

	version := known.repairVersion(stored.Version)
	mutation := search.Tombstone(s.cfg.Name, s.birth, index, id, routing, version)
	if known != nil && version == known.Change.Version {
		mutation.Time = known.Change.Time // mode fast orders by time
	}
	writeText := "tombstone document " + present.PlaceText
	if present.Expected {
		c := known.Change
		c.Version = version // the document contains its version, so it is planned with it
		planned, err := s.plannedMutation(&c, f.Place)
		switch {
		case err != nil:
			return Outcome{Result: Refused, Reason: fmt.Sprintf("the document cannot be planned: %v", err)}, nil
		case planned == nil:
			return Outcome{Result: Refused, Reason: "the item has no document at this place: audit again"}, nil
		}
		mutation, writeText = *planned, "put document "+present.PlaceText
		mutation.Birth = s.birth
	}

	repairer, err := storeAs[search.Repairer](s.store, "repair documents")
	if err != nil {
		return Outcome{}, err
	}
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}
	results, err := repairer.RepairDocuments(ctx, []search.DocumentRepair{{Expected: stored, Next: mutation}})
	rs := make([]view.Result, len(results))
	for i, r := range results {
		rs[i] = view.Result{Lost: r.Overtaken, Err: r.Err}
	}
	r, err := singleResult(rs, err)
	return s.outcome(r, err, writeText)
}

// plannedMutation returns the planned document at a place; nil if no document is planned there.
func (s *documentSink) plannedMutation(c *record.Change, place string) (*search.Mutation, error) {
	ops, err := s.planner.ops(c)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		m, ok := op.(*search.Mutation)
		if ok && !m.Tombstone && documentPlace(m.Index, m.Routing, m.ID) == place {
			return m, nil
		}
	}
	return nil, nil
}
