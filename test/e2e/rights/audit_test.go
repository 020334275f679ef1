package rights

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
)

// An audit compares with the rights of an audit alone: it writes nothing.
func TestAuditHasItsRights(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	cfg := w.config(t, file)
	for _, key := range []string{"a", "b", "c"} {
		w.write(t, key, map[string]any{"Status": "paid", "Email": key + "@example.com", "Total": 7})
	}
	w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off")
	audit := policy.Statements(cfg, policy.Options{Runner: policy.Audit})
	w.taken(t)
	w.permit(audit)
	report := filepath.Join(t.TempDir(), "report.jsonl")
	out, err := w.try(t, file, "audit", "--live", "--report", report)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 9 { // the groups of an aggregate with keep
		t.Fatalf("%v\n%s", err, out)
	}
	out, err = w.try(t, file, "audit", "--live", "--report", report, "--key", "PK=a")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := w.taken(t)
	allowed(t, "an audit", calls, audit)
	for _, s := range audit {
		switch s.Sid {
		case "SourceTable", "Leases", "State", "StateScan":
			called(t, "an audit", calls, []policy.Statement{s}, nil)
		}
	}
}
