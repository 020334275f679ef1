package gaps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/state"
)

// Job is a repair of gaps.
type Job struct {
	Config *config.Config
	Store  state.Gaps
	Gaps   []state.NotedGap // the gaps, as read from Store
	Births state.Births     // nil if LeftOut is empty
	// LeftOut are the births, the recorded identities, of outputs whose sinks were left out, as read from Births. An
	// audit of everything repairs these outputs
	LeftOut []state.Birth
	Audit   *auditor.Job
	Exports []string // incremental exports with the items to compare. Default: everything is audited
	Owner   string   // owner of the gaps during the repair, for status. Default: a random text
	Report  string   // path of the report of remaining differences. Default: no report is kept
	DryRun  bool     // write nothing, and take no gap

	// Check is called before each repair of the sinks. Its error ends the repair. Default: no check.
	Check func(ctx context.Context) error

	ownedFor time.Duration // how long an ownership lasts without a renewal. Default: ownershipDuration
}

// Result is the result of a repair.
type Result struct {
	Repair           state.GapRepair `json:"repair"`
	Gaps             int             `json:"gaps"`                // number of gaps that got the result
	Grew             int             `json:"grew,omitempty"`      // number of gaps that meanwhile grew or were taken over
	RepairedByOthers int             `json:"taken,omitempty"`     // number of gaps that another process repairs
	LeftOut          []string        `json:"left_out,omitempty"`  // sinks that were left out, and now miss nothing
	DryRun           bool            `json:"dry_run,omitempty"`   // nothing was written
	Report           string          `json:"report,omitempty"`    // path of the report of remaining differences
	NotRepairable    []string        `json:"not_fixed,omitempty"` // parts of the sinks that no repair can restore
}

// Repair repairs the sinks after gaps. It takes the ownership of the gaps, so that only one of several processes works.
// If a process ends without a result, its ownership stays until it expires. Repair stores the result with each gap that
// did not grow meanwhile. The gaps are repaired if the last comparison found nothing, and every sink that keeps state
// was compared.
func Repair(ctx context.Context, j Job) (Result, error) {
	r := Result{DryRun: j.DryRun, NotRepairable: NotRepairable(j.Config, j.Gaps, j.LeftOut)}
	if err := checkReport(j.Report); err != nil {
		return r, err
	}
	if j.DryRun {
		var err error
		r.Repair, err = j.repairCandidates(ctx, j.Gaps)
		return r, err
	}
	j.ownedFor = cmp.Or(j.ownedFor, ownershipDuration)
	owner, err := takeOwnership(ctx, j.Store, j.Gaps, j.Owner, j.ownedFor)
	if err != nil {
		return r, err
	}
	owned := owner.ownedGaps()
	r.RepairedByOthers = len(j.Gaps) - len(owned)
	if len(owned) > 0 {
		err = j.repairOwned(ctx, owner, owned, &r)
	} else {
		err = j.repairLeftOut(ctx, &r)
	}
	return r, err
}

// repairOwned repairs the sinks after owned gaps, stores the result with the gaps, and ends the ownership.
func (j *Job) repairOwned(ctx context.Context, owner *ownership, gaps []state.NotedGap, r *Result) error {
	repair, err := j.repairAsOwner(ctx, owner, gaps)
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	if err != nil {
		return errors.Join(err, owner.release(ending))
	}
	merge := func(stored state.GapRepair) state.GapRepair { return j.mergeRepairs(stored, repair) }
	r.Gaps, err = owner.finish(ending, merge)
	r.Grew = len(gaps) - r.Gaps
	j.setRepair(r, repair)
	if err != nil {
		return err
	}
	return j.clearLeftOut(ending, r)
}

// repairLeftOut repairs the outputs of left-out sinks, if this process owns no gap.
func (j *Job) repairLeftOut(ctx context.Context, r *Result) error {
	if len(j.LeftOut) == 0 {
		return nil
	}
	repair, err := j.repairCandidates(ctx, nil)
	if err != nil {
		return err
	}
	j.setRepair(r, repair)
	return j.clearLeftOut(ctx, r)
}

// repairAsOwner repairs the candidates of owned gaps, and renews the ownership meanwhile. It returns errNotOwner if the
// ownership of all gaps was lost.
func (j *Job) repairAsOwner(ctx context.Context, owner *ownership, gaps []state.NotedGap) (state.GapRepair, error) {
	j.Audit.OnProgress(owner.step.update)
	working, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { owner.renewUntilDone(working, cancel) })
	repair, err := j.repairCandidates(working, gaps)
	cause := context.Cause(working)
	cancel(nil)
	renewal.Wait()
	if err != nil && errors.Is(cause, errNotOwner) {
		err = cause
	}
	return repair, err
}

// setRepair sets the repair of a result, and names the report if differences remain.
func (j *Job) setRepair(r *Result, repair state.GapRepair) {
	r.Repair = j.mergeRepairs(state.GapRepair{}, repair)
	if repair.Left > 0 {
		r.Report = j.Report
	}
}

// clearLeftOut clears the notes about left-out sinks, if an audit of everything compared their outputs and no
// difference remains.
func (j *Job) clearLeftOut(ctx context.Context, r *Result) error {
	if r.Repair.How != "audit" || r.Repair.Left > 0 {
		return nil
	}
	for _, b := range j.LeftOut {
		if !slices.Contains(r.Repair.Sinks, b.Sink) {
			continue
		}
		cleared, err := sinks.ClearLeftOut(ctx, j.Births, b)
		if err != nil {
			return err
		}
		if cleared {
			r.LeftOut = append(r.LeftOut, b.Sink)
		}
	}
	return nil
}

// mergeRepairs returns the repair to store with a gap. earlier is the stored repair of that gap. The result includes
// the sinks that earlier found equal.
func (j *Job) mergeRepairs(earlier, repair state.GapRepair) state.GapRepair {
	repair.Run = earlier.Run
	equalSinks := slices.Clone(repair.Sinks)
	if earlier.Left == 0 {
		equalSinks = append(equalSinks, earlier.Sinks...)
	}
	slices.Sort(equalSinks)
	repair.Sinks = slices.Compact(equalSinks)

	wasNotCompared := func(sink string) bool { return !slices.Contains(repair.Sinks, sink) }
	repair.Stage = state.GapRepaired
	if repair.Left > 0 || slices.ContainsFunc(j.Config.SinksToRepair(), wasNotCompared) {
		repair.Stage = state.GapOpen
	}
	return repair
}

// repairRun is one repair of the candidates of gaps.
type repairRun struct {
	*Job
	candidates  *candidates // nil: everything is a candidate
	subject     string
	reports     workReports
	summary     *run.Summary // of the last comparison
	lastReport  string       // path of the report of the last comparison
	undecodable int64        // number of items that cannot be decoded
	repair      state.GapRepair
}

// repairCandidates compares the candidates with the table, repairs the differences, and compares again. Without
// exports, everything is a candidate.
func (j *Job) repairCandidates(ctx context.Context, gaps []state.NotedGap) (_ state.GapRepair, err error) {
	r := repairRun{Job: j, repair: state.GapRepair{How: "audit"}}
	for _, s := range j.Audit.Sinks() {
		r.repair.Sinks = append(r.repair.Sinks, s.Name())
	}
	if len(j.Exports) > 0 {
		r.repair.How, r.repair.Exports = "export", j.Exports
		if r.candidates, err = openCandidates(ctx, j, gaps); err != nil {
			return r.repair, err
		}
	}
	if r.subject, err = subjectOf(gaps, j.LeftOut, r.repair.How, j.Exports); err != nil {
		return r.repair, err
	}
	if r.reports, err = newWorkReports(j.Report, r.subject); err != nil {
		return r.repair, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.reports.removeFolder())
		}
	}()

	if err := r.compareFirst(ctx); err != nil {
		return r.repair, err
	}
	if err := r.reports.removeLater(); err != nil {
		return r.repair, err
	}
	if err := r.repairUntilEqual(ctx); err != nil {
		return r.repair, err
	}
	return r.repair, r.reports.finish(r.lastReport, r.repair.Left > 0)
}

// compareFirst compares the candidates with the table, before anything is repaired.
func (r *repairRun) compareFirst(ctx context.Context) (err error) {
	var addSuspects func(add addSuspect) error // nil: everything is compared
	if r.candidates != nil {
		addSuspects = func(add addSuspect) error { return r.candidates.addSuspects(ctx, add) }
	}
	r.lastReport = r.reports.first()
	if r.summary, err = r.Audit.Audit(ctx, r.lastReport, r.subject, addSuspects); err != nil {
		return err
	}
	r.repair.Items, r.repair.Differences, r.repair.Left = r.summary.Items, r.summary.Differing, r.summary.Left()
	r.undecodable = r.summary.Undecodable
	if r.candidates != nil {
		if err := r.candidates.readIfUnread(ctx); err != nil {
			return err
		}
		r.repair.Items = int64(len(r.candidates.keyHashes))
		r.repair.Left += r.candidates.undecodable
		r.undecodable += r.candidates.undecodable
	}
	return nil
}

// repairUntilEqual repairs the findings of the last comparison and compares again, until no repairable difference
// remains or all rounds are over.
func (r *repairRun) repairUntilEqual(ctx context.Context) error {
	for _, nextReport := range r.reports.later() {
		if repairableFindings(r.summary) == 0 {
			return nil
		}
		if err := r.repairFindings(ctx); err != nil || r.DryRun {
			return err
		}
		again := r.Audit.ReportSuspects(r.lastReport)
		summary, err := r.Audit.Audit(ctx, nextReport, r.subject+nextReport, again)
		if err != nil {
			return err
		}
		r.summary, r.lastReport = summary, nextReport
		r.repair.Left = summary.Left() + r.undecodable
	}
	return nil
}

// repairFindings repairs the findings of the last comparison.
func (r *repairRun) repairFindings(ctx context.Context) error {
	if r.Check != nil {
		if err := r.Check(ctx); err != nil {
			return err
		}
	}
	repaired, err := r.Audit.Repair(ctx, r.lastReport)
	if err != nil {
		return err
	}
	r.repair.Repaired += repaired.Results[audit.Repaired]
	return nil
}

// repairableFindings returns the number of findings of a summary that a repair can correct.
func repairableFindings(s *run.Summary) (n int64) {
	for i := range s.Sinks {
		for verdict, found := range s.Sinks[i].Findings {
			if verdict.Differs() {
				n += found
			}
		}
	}
	return n
}

// subjectOf returns a hash of what a repair works on. An interrupted repair continues if its subject is the same.
func subjectOf(gaps []state.NotedGap, leftOut []state.Birth, how string, exports []string) (string, error) {
	var extents []record.Gap
	for _, g := range gaps {
		extents = append(extents, g.Gap)
	}
	b, err := json.Marshal([]any{extents, leftOut, how, exports})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// NotRepairable returns the parts of a file's sinks that no repair can restore. After a gap, every sink misses changes.
// Without one, only the sinks of incomplete are known to.
func NotRepairable(cfg *config.Config, gaps []state.NotedGap, incomplete []state.Birth) (parts []string) {
	for _, s := range cfg.Sinks {
		isOfSink := func(b state.Birth) bool { return b.Sink == s.Name }
		missesChanges := len(gaps) > 0 || slices.ContainsFunc(incomplete, isOfSink)
		if !missesChanges {
			continue
		}
		switch {
		case s.Notify != nil:
			parts = append(parts, s.Name+": the events of the lost changes are not published")
		case s.Archive != nil:
			parts = append(parts, s.Name+": the lost changes are not in the archive")
		case s.Aggregate != nil && s.Aggregate.KeepOnTTL:
			parts = append(parts, s.Name+": what items that expired meanwhile counted for is unknown (on_ttl_delete: keep)")
		case s.Custom != nil:
			parts = append(parts, s.Name+": a Go sink did not get the lost changes")
		}
	}
	return parts
}
