package gaps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	auditor "github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
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
	Streams cli.Streams

	// Check is called before each repair of the sinks. Its error ends the repair. Default: no check.
	Check func(ctx context.Context) error

	ownedFor time.Duration // how long an ownership lasts without a renewal. Default: ownershipDuration
}

// Result is the result of a repair.
type Result struct {
	Repair        state.GapRepair `json:"repair"`
	Gaps          int             `json:"gaps"`                // number of gaps that got the result
	Grew          int             `json:"grew,omitempty"`      // number of gaps that meanwhile grew or were taken over
	Taken         int             `json:"taken,omitempty"`     // number of gaps that another process repairs
	LeftOut       []string        `json:"left_out,omitempty"`  // sinks that were left out, and now miss nothing
	DryRun        bool            `json:"dry_run,omitempty"`   // nothing was written
	Report        string          `json:"report,omitempty"`    // path of the report of remaining differences
	NotRepairable []string        `json:"not_fixed,omitempty"` // parts of the sinks that no repair can restore
}

// lookRounds is the maximum number of rounds of a repair. Each round repairs the differences and compares again.
const lookRounds = 3

// Repair repairs the sinks after gaps. It takes the ownership of the gaps, so that only one of several processes works.
// If a process ends without a result, its ownership stays until it expires. Repair stores the result with each gap that
// did not grow meanwhile. The gaps are repaired if the last comparison found nothing, and every sink that keeps state
// was compared.
func Repair(ctx context.Context, j Job) (Result, error) {
	r := Result{DryRun: j.DryRun, NotRepairable: NotRepairable(j.Config)}
	if err := checkReport(j.Report); err != nil {
		return r, err
	}
	if j.DryRun {
		var err error
		r.Repair, err = j.repairCandidates(ctx, j.Gaps)
		return r, err
	}
	j.ownedFor = cmp.Or(j.ownedFor, ownershipDuration)
	c, err := takeOwnership(ctx, j.Store, j.Gaps, j.Owner, j.ownedFor)
	if err != nil {
		return r, err
	}
	owned := c.ownedGaps()
	if r.Taken = len(j.Gaps) - len(owned); len(owned) == 0 {
		if len(j.LeftOut) > 0 {
			err = j.repairLeftOut(ctx, &r)
		}
		return r, err
	}
	repair, err := j.repairOwned(ctx, c, owned)
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	if err != nil {
		_, releaseErr := c.release(ending)
		return r, errors.Join(err, releaseErr)
	}
	r.Gaps, err = c.finish(ending, func(was state.GapRepair) state.GapRepair { return j.mergeRepairs(was, repair) })
	r.Grew = len(owned) - r.Gaps
	j.setRepair(&r, repair)
	if err == nil {
		err = j.clearLeftOut(ending, &r)
	}
	return r, err
}

// repairLeftOut repairs the outputs of left-out sinks, if this process owns no gap.
func (j *Job) repairLeftOut(ctx context.Context, r *Result) error {
	repair, err := j.repairCandidates(ctx, nil)
	if err != nil {
		return err
	}
	j.setRepair(r, repair)
	return j.clearLeftOut(ctx, r)
}

// repairOwned repairs the candidates of owned gaps, and renews the ownership meanwhile. It returns errNotOwner if the
// ownership of all gaps was lost.
func (j *Job) repairOwned(ctx context.Context, c *ownership, gaps []state.NotedGap) (state.GapRepair, error) {
	j.Audit.OnProgress(c.step.update)
	working, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { c.renewUntilDone(working, cancel) })
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
	if j.DryRun || r.Repair.How != "audit" || r.Repair.Left > 0 {
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

// checkReport returns an error if a report would replace a file that is not a report.
func checkReport(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || info.Size() == 0:
		return err
	}
	if _, _, err := run.ReadReport(path, func(string, *audit.Finding) error { return nil }); err != nil {
		return cli.Usagef("--report would replace a file that is no report: %v", err)
	}
	return nil
}

// mergeRepairs returns the stored result of a repair. It includes the sinks that an earlier repair of the gap found
// equal.
func (j *Job) mergeRepairs(earlier, repair state.GapRepair) state.GapRepair {
	repair.Run = earlier.Run
	compared := slices.Clone(repair.Sinks)
	if earlier.Left == 0 {
		compared = append(compared, earlier.Sinks...)
	}
	slices.Sort(compared)
	repair.Sinks = slices.Compact(compared)
	repair.Stage = state.GapOpen
	isMissing := func(name string) bool { return !slices.Contains(repair.Sinks, name) }
	if repair.Left == 0 && !slices.ContainsFunc(j.Config.SinksToRepair(), isMissing) {
		repair.Stage = state.GapRepaired
	}
	return repair
}

// repairCandidates compares the candidates with the table, repairs the differences, and compares again. Without
// exports, everything is a candidate.
func (j *Job) repairCandidates(ctx context.Context, gaps []state.NotedGap) (r state.GapRepair, err error) {
	r.How = "audit"
	for _, s := range j.Audit.Sinks() {
		r.Sinks = append(r.Sinks, s.Name())
	}
	var addSuspects func(add func(sink int, s run.Suspect)) error
	var exported *candidates
	if len(j.Exports) > 0 {
		r.How, r.Exports = "export", j.Exports
		if exported, err = openCandidates(ctx, j, gaps); err != nil {
			return r, err
		}
		addSuspects = func(add func(sink int, s run.Suspect)) error { return exported.addSuspects(ctx, add) }
	}
	subject, err := subjectOf(gaps, j.LeftOut, r.How, j.Exports)
	if err != nil {
		return r, err
	}
	report, remove, err := j.workReport(subject)
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	sum, err := j.Audit.Audit(ctx, firstReport(report), subject, addSuspects)
	if err != nil {
		return r, err
	}
	r.Items, r.Differences, r.Left = sum.Items, sum.Differing, sum.Left()
	undecodable := sum.Undecodable
	if exported != nil {
		if err := exported.readIfUnread(ctx); err != nil {
			return r, err
		}
		r.Items = int64(len(exported.keys))
		r.Left += exported.unknown
		undecodable += exported.unknown
	}
	if err := removeLooks(report); err != nil {
		return r, err
	}
	lastReport, err := j.repairUntilEqual(ctx, &r, sum, report, subject, undecodable)
	if err != nil {
		return r, err
	}
	return r, j.keepLast(report, lastReport, r.Left)
}

// repairUntilEqual repairs the findings of the first look and looks again, until no repairable difference remains or
// all rounds are over. It counts in r, and returns the path of the report of the last look.
func (j *Job) repairUntilEqual(
	ctx context.Context, r *state.GapRepair, sum *run.Summary, report, subject string, undecodable int64,
) (last string, err error) {
	last = firstReport(report)
	for _, next := range againPaths(report) {
		if repairableFindings(sum) == 0 {
			break
		}
		if j.Check != nil {
			if err := j.Check(ctx); err != nil {
				return "", err
			}
		}
		repaired, err := j.Audit.Repair(ctx, last)
		if err != nil {
			return "", err
		}
		r.Repaired += repaired.Results[audit.Repaired]
		if j.DryRun {
			break
		}
		if sum, err = j.Audit.Audit(ctx, next, subject+next, j.Audit.ReportSuspects(last)); err != nil {
			return "", err
		}
		r.Left = sum.Left() + undecodable
		last = next
	}
	return last, nil
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

// workReport returns the common beginning of the paths of reports, and a function that removes their temporary folder.
// The beginning differs by subject, so that the files of another interrupted repair do not conflict.
func (j *Job) workReport(subject string) (path string, remove func() error, err error) {
	if j.Report != "" {
		return j.Report + "." + subject[:8], func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "tablewake-gaps-")
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(dir, "report.jsonl"), func() error { return os.RemoveAll(dir) }, nil
}

// keepLast renames the report last to j.Report if left is above 0. It removes all other reports, including the report
// of an earlier repair.
func (j *Job) keepLast(report, last string, left int64) error {
	if j.Report == "" {
		return os.RemoveAll(filepath.Dir(report))
	}
	var failed []error
	if left > 0 {
		failed = append(failed, os.Rename(last, j.Report))
	}
	old := append(againPaths(report), firstReport(report))
	if left == 0 {
		old = append(old, j.Report) // the report of an earlier repair
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// removeLooks removes the later reports of an interrupted repair, because they do not belong to the new first report.
func removeLooks(report string) error {
	var failed []error
	for _, path := range againPaths(report) {
		failed = append(failed, os.RemoveAll(path), os.RemoveAll(path+".work"))
	}
	return errors.Join(failed...)
}

// firstReport returns the path of the report of the first look.
func firstReport(report string) string { return report + ".first" }

// againPaths returns the paths of the reports of the looks after the first.
func againPaths(report string) (paths []string) {
	for round := 1; round <= lookRounds; round++ {
		paths = append(paths, fmt.Sprintf("%s.again-%d", report, round))
	}
	return paths
}

// subjectOf returns the subject of a repair, a hash. An interrupted repair continues if its subject is the same.
func subjectOf(gaps []state.NotedGap, left []state.Birth, how string, exports []string) (string, error) {
	var extents []record.Gap
	for _, g := range gaps {
		extents = append(extents, g.Gap)
	}
	b, err := json.Marshal([]any{extents, left, how, exports})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// NotRepairable returns the parts of a file's sinks that no repair can restore.
func NotRepairable(cfg *config.Config) (lost []string) {
	for _, s := range cfg.Sinks {
		switch {
		case s.Notify != nil:
			lost = append(lost, s.Name+": the events of the lost changes are not published")
		case s.Archive != nil:
			lost = append(lost, s.Name+": the lost changes are not in the archive")
		case s.Aggregate != nil && s.Aggregate.KeepOnTTL:
			lost = append(lost, s.Name+": what items that expired meanwhile counted for is unknown (on_ttl_delete: keep)")
		case s.Custom != nil:
			lost = append(lost, s.Name+": a Go sink did not get the lost changes")
		}
	}
	return lost
}
