package audit

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// kills is the number of times that a process is killed.
const kills = 10

// An audit that is killed again and again has the same result as an audit that is not killed.
func TestKilled_Audit(t *testing.T) {
	n := perKind(10)
	tb := newDriftTable(n)
	tb.embedded = true
	// Each segment reads the whole file, so that the audit takes long.
	auditsAreKilled(t, newFolder(t), tb, n, "--segments", "60", "--parts", "1", "--save-every", "20ms")
}

// An audit of DynamoDB and OpenSearch that is killed again and again has the same result as an audit that is not
// killed.
func TestKilled_AuditOfServers(t *testing.T) {
	n := perKind(10)
	auditsAreKilled(t, newLive(t), newDriftTable(n), n, "--parts", "1", "--save-every", "20ms")
}

func auditsAreKilled(t *testing.T, d deployment, tb *table, n int, flags ...string) {
	t.Helper()
	want := injectedInto(t, d, tb, tb.kinds(), n)
	d.flags(flags...)
	begun := time.Now()
	same(t, "an audit", foreseen(tb, audit(t, d, 8)), foreseen(tb, want))
	took := time.Since(begun)

	report := d.path("killed.jsonl")
	killed, resumed := 0, 0
	for ended := false; !ended; {
		after := rand.N(took / 3)
		if killed == kills {
			after = time.Hour // this process may end by itself
		}
		code, said := d.command("--report", report).killedAfter(t, after)
		if strings.Contains(said, "continuing the audit") {
			resumed++
		}
		if code < 0 {
			killed++
			continue
		}
		if code != 8 {
			t.Fatalf("exit code %d, want 8\n%s", code, shortened(said))
		}
		same(t, "an audit that was killed", foreseen(tb, readReport(t, d, report)), want)
		ended = killed == kills // if not, another audit begins
	}
	t.Logf("an audit takes %v; killed %d times, continued %d times", took.Round(time.Millisecond), killed, resumed)
	if resumed == 0 {
		t.Error("no audit continued with one that was killed")
	}
}

// A repair that is killed again and again fixes all differences, and counts no item twice.
func TestKilled_Repair(t *testing.T) {
	n := perKind(10)
	tb, f := newDriftTable(n), newFolder(t)
	tb.embedded = true
	want := injectedInto(t, f, tb, tb.kinds(), n)
	same(t, "an audit", audit(t, f, 8), want)
	took := repairTime(t, f)
	for killed := 0; ; {
		after := took/20 + rand.N(took/4)
		if killed == kills {
			after = time.Hour
		}
		code, said := f.command("--repair", reportOf(f)).killedAfter(t, after)
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
	same(t, "an audit after the repair", audit(t, f, 0), nil)
}

// repairTime returns the time that a repair takes. It measures a dry run.
func repairTime(t *testing.T, d deployment) time.Duration {
	t.Helper()
	begun := time.Now()
	d.command("--repair", reportOf(d), "--dry-run").run(t, 0)
	return time.Since(begun)
}
