package rights

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/server"
)

// An audit works with the rights of an audit only. It writes nothing.
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
	// The exit code is 9 because of the groups of an aggregate with keep.
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 9 {
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

// A function audits with the rights that the template gives it, which are the rights of an audit without exports and
// leases. If one of these rights is missing, the audit fails and says so.
func TestAFunctionAuditsWithItsRights(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	cfg := w.config(t, file)
	for _, key := range []string{"a", "b", "c"} {
		w.write(t, key, map[string]any{"Status": "paid", "Email": key + "@example.com", "Total": 7})
	}
	w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off")
	w.write(t, "d", map[string]any{"Status": "paid", "Email": "d@example.com", "Total": 7}) // no sink has this item
	audit := slices.DeleteFunc(policy.Statements(cfg, policy.Options{Runner: policy.Audit}), func(s policy.Statement) bool {
		return s.Sid == "ExportObjects" || s.Sid == "ExportBucket" || s.Sid == "Leases"
	})
	w.taken(t)
	w.permit(audit)
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tablewake.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	f := server.StartFunctionFor(t, server.FunctionOptions{Bootstrap: bootstrap, Root: dir, Env: append(slices.Clone(w.env), "TABLEWAKE_COMMAND=audit")})
	event := []byte(`{"tablewake":"audit","sample":2,"segments":2,"rcu":0,"lag":"100ms"}`)
	answer, err := f.Invoke(t.Context(), event)
	if err != nil || !strings.Contains(string(answer), `"differing":5`) {
		t.Errorf("%s, %v, want the row of d in both views, its guard, its claim and its share", answer, err)
	}
	calls := w.taken(t)
	allowed(t, "a function's audit", calls, audit)
	for _, s := range audit {
		if s.Sid == "SourceTable" || s.Sid == "State" || s.Sid == "StateScan" || strings.HasPrefix(s.Sid, "View") {
			called(t, "a function's audit", calls, []policy.Statement{s}, nil)
		}
	}
	w.permit(slices.DeleteFunc(audit, func(s policy.Statement) bool { return s.Sid == "SourceTable" }))
	if answer, err := f.Invoke(t.Context(), event); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("without the right to read the table: %s, %v", answer, err)
	}
}
