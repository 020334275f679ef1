package why

import (
	"cmp"
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
)

// compareSink compares the item with one sink, and sets the fields of out. plan is what the pipeline plans for the item
// at this sink. compared is nil if the sink keeps no state. In that case nothing is compared. If the sink has a newer
// change of the item, the findings are only shown.
func compareSink(
	ctx context.Context, item *record.Change, s config.Sink, compared audit.Sink, plan pipeline.RouteTrace, out *Sink,
) error {
	switch {
	case s.View != nil:
		out.Kind = "view"
	case s.Aggregate != nil:
		out.Kind = "aggregate"
	case s.Search != nil:
		out.Kind = "search"
	case s.Archive != nil:
		out.Kind, out.Note = "archive", "holds changes, not items: tablewake query archive"
	case s.Notify != nil:
		out.Kind, out.Note = "notify", "keeps nothing"
	default:
		out.Kind, out.Note = "custom", "only the Go sink knows what it keeps"
	}
	if compared == nil {
		return nil
	}
	out.Note = compared.Note(item)
	if plan.Err != nil && !item.Removed() {
		item = audit.Removal(item) // show what is stored, although the correct contents are unknown
	}
	findings, err := compared.Compare(ctx, item, nil)
	if err != nil {
		return err
	}
	if groups, ok := compared.(audit.GroupSink); ok {
		shares, err := groups.FindShares(ctx, item)
		if err != nil {
			return err
		}
		findings = append(findings, shares...)
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

// unreadNote is the Note of a sink that has a newer change of the item than the records.
const unreadNote = "has a newer change of the item than the records, and is not compared: name the record of this change, too"

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
