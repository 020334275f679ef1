package audit

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// Repair writes the document of a finding. If the document should not exist, it writes a tombstone.
func (s *documentSink) Repair(ctx context.Context, c *record.Change, f Finding) (Outcome, error) {
	now, done, err := s.lookAgain(ctx, s, c, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	index, routing, id, err := parseDocumentPlace(f.Place)
	if err != nil {
		return Outcome{}, err
	}
	in, err := storeAs[search.Inspector](&s.base, s.store, "read single documents")
	if err != nil {
		return Outcome{}, err
	}
	st, err := in.ReadStored(ctx, index, id, routing)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: document %s: %w", s.spec.Name, now.PlaceText, err)
	}
	if st.Version != f.Version {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	m, wrote := search.Tombstone(s.cfg.Name, s.birth, index, id, routing, st.Version), "tombstone document "+now.PlaceText
	if now.Expected {
		planned, err := s.plannedMutation(c, f.Place)
		if err != nil || planned == nil {
			return Outcome{Result: Refused, Reason: fmt.Sprintf("the document cannot be planned: %v", err)}, nil
		}
		m, wrote = *planned, "put document "+now.PlaceText
		m.Birth = s.birth
	}
	repairer, err := storeAs[search.Repairer](&s.base, s.store, "repair documents")
	if err != nil {
		return Outcome{}, err
	}
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	rs, err := repairer.RepairDocuments(ctx, []search.DocumentRepair{{Expected: st, Next: m}})
	if err != nil || len(rs) == 0 {
		return s.outcome(view.Result{}, err, wrote)
	}
	return s.outcome(view.Result{Lost: rs[0].Overtaken, Err: rs[0].Err}, nil, wrote)
}

// plannedMutation returns the planned document at a place; nil if no document is planned there.
func (s *documentSink) plannedMutation(c *record.Change, place string) (*search.Mutation, error) {
	ops, err := s.planner.ops(c)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if m, ok := op.(*search.Mutation); ok && !m.Tombstone && documentPlace(m.Index, m.Routing, m.ID) == place {
			return m, nil
		}
	}
	return nil, nil
}
