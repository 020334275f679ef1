package why

import (
	"cmp"
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/audit"
)

// compareSink compares the item with one sink, and sets the fields of out. plan is what the pipeline plans for the item
// at this sink. compared is nil if the sink keeps no state. In that case nothing is compared. If the sink may have a
// change that the state of the item does not have, the findings are only shown.
func compareSink(
	ctx context.Context, known audit.ItemState, s config.Sink, compared audit.Sink, plan pipeline.RouteTrace, out *Sink,
) error {
	out.Kind, out.Note = kindOf(s)
	if compared == nil {
		return nil
	}
	out.Note = compared.Note(&known.Change)
	if plan.Err != nil && !known.Change.Removed() {
		known.Change = *audit.Removal(&known.Change) // the correct contents are unknown, so only what is stored is shown
	}
	findings, err := compared.Compare(ctx, &known, nil)
	if err != nil {
		return err
	}
	if groups, ok := compared.(audit.GroupSink); ok {
		found, err := groups.FindGroups(ctx, &known.Change)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
	}
	for i := range findings {
		out.add(&findings[i])
	}
	if slices.ContainsFunc(findings, func(f audit.Finding) bool { return f.Unread }) {
		out.Note = unreadNote
		out.removeVerdicts()
	}
	return nil
}

// kindOf returns the kind of a sink, and why nothing is compared with a sink of this kind; "" if something is.
func kindOf(s config.Sink) (kind, note string) {
	switch {
	case s.View != nil:
		return "view", ""
	case s.Aggregate != nil:
		return "aggregate", ""
	case s.Search != nil:
		return "search", ""
	case s.Archive != nil:
		return "archive", "holds changes, not items: tablewake query archive"
	case s.Notify != nil:
		return "notify", "keeps nothing"
	}
	return "custom", "only the Go sink knows what it keeps"
}

// unreadNote is the Note of a sink that may have a change that the state of the item does not have.
const unreadNote = "has a change of the item that no named record has, and is not compared: name the record of this change, too"

// add adds a finding. If it is about a row, add also adds a finding for each claim that waits for the row. A claim is
// the request of an item for a row.
func (s *Sink) add(f *audit.Finding) {
	if f.Place == "" {
		return // the note says why the item was not compared
	}
	isClaim := f.Kind == audit.Claim || f.Kind == audit.Owner
	if isClaim && f.Verdict == audit.Equal {
		return // the finding of the row shows the claim
	}
	s.Findings = append(s.Findings, Finding{
		Kind: string(f.Kind), Where: f.PlaceText, Found: f.FoundText, Version: versionText(f.Version), Verdict: verdictOf(f),
		Differs: f.Differences,
	})
	for _, c := range f.Waiting {
		s.Findings = append(s.Findings, Finding{Kind: "claim", Where: f.PlaceText, Version: versionText(c.Version),
			Found: "the item " + c.Item + " waits"})
	}
}

// verdictOf returns the verdict of a finding. If a dead letter explains a difference, verdictOf returns the verdict of
// the difference, such as missing. The command lists dead letters separately.
func verdictOf(f *audit.Finding) Verdict {
	verdict := cmp.Or(f.Underlying, f.Verdict)
	switch {
	case f.Kind == audit.Group && verdict == audit.Equal:
		return Info
	case verdict == audit.Waiting:
		return Waits
	case f.Kind == audit.Row && f.Expected && f.Owner != "":
		return Taken
	case verdict == audit.Equal && f.Expected:
		return Same
	case verdict == audit.Equal:
		return Gone
	case verdict == audit.Missing:
		return Missing
	case f.Kind != audit.Guard && (verdict == audit.Extra || verdict == audit.Skipped):
		return Leftover
	}
	return Differs
}
