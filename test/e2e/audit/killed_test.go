package audit

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kills is how often a process is killed.
const kills = 10

// Audits that are killed again and again say the same as one that is not.
func TestKilled_Audit(t *testing.T) {
	n := perKind(10)
	tb, f := newDriftTable(n), newFolder(t)
	tb.embedded = true
	want := injectedInto(t, f, tb, kinds(), n)
	f.more = []string{"--segments", "60", "--parts", "1", "--save-every", "20ms"} // each segment reads the whole file, so that it takes long
	begun := time.Now()
	same(t, "an audit", f.audit(t, 8), want)
	took := time.Since(begun)

	report := filepath.Join(f.dir, "killed.jsonl")
	killed, resumed := 0, 0
	for ended := false; !ended; {
		after := rand.N(took / 3)
		if killed == kills {
			after = time.Hour // it is left to its end
		}
		code, said := f.killedAfter(t, after, "--report", report)
		if strings.Contains(said, "going on with the audit") {
			resumed++
		}
		if code < 0 {
			killed++
			continue
		}
		if code != 8 {
			t.Fatalf("exit code %d, want 8\n%s", code, shortened(said))
		}
		same(t, "an audit that was killed", readReport(t, report, f.index), want)
		ended = killed == kills // otherwise another one is begun
	}
	t.Logf("killed %d times, went on %d times", killed, resumed)
	if resumed == 0 {
		t.Error("no audit went on with one that was killed")
	}
}

// A repair that is killed again and again mends all, and counts nothing twice.
func TestKilled_Repair(t *testing.T) {
	n := perKind(10)
	tb, f := newDriftTable(n), newFolder(t)
	tb.embedded = true
	want := injectedInto(t, f, tb, kinds(), n)
	same(t, "an audit", f.audit(t, 8), want)
	took := f.repairTime(t)
	for killed := 0; ; {
		after := took/20 + rand.N(took/4)
		if killed == kills {
			after = time.Hour
		}
		code, said := f.killedAfter(t, after, "--repair", filepath.Join(f.dir, "audit.jsonl"))
		switch {
		case code < 0:
			killed++
			continue
		case code != 0:
			t.Fatalf("exit code %d, want 0\n%s", code, shortened(said))
		case killed == kills:
		default:
			continue
		}
		break
	}
	equal(t, "after the repair", f.read(), tb.contents())
	same(t, "an audit after the repair", f.audit(t, 0), nil)
}

// repairTime returns how long a repair takes, by one that writes nothing.
func (f *folder) repairTime(t *testing.T) time.Duration {
	t.Helper()
	begun := time.Now()
	run(t, f.env, 0, f.command("--repair", filepath.Join(f.dir, "audit.jsonl"), "--dry-run")...)
	return time.Since(begun)
}

// killedAfter runs an audit or a repair, and kills it after some time. It returns the exit code, -1 if it was killed.
func (f *folder) killedAfter(t *testing.T, after time.Duration, flags ...string) (code int, said string) {
	t.Helper()
	cmd, out := command(t, f.env, f.command(flags...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code tells
	return cmd.ProcessState.ExitCode(), out.String()
}
