package consume

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// The log has each entry that a repair wrote or refused. It has no entry that the repair left alone.
func TestRepairJob_LogsEachWrite(t *testing.T) {
	log := &running{t: t}
	r := &gapRepair{log: slog.New(slog.NewTextHandler(log, nil))}
	f := audit.Finding{Kind: audit.Row, Place: "secret", PlaceText: "PK=masked-1", Item: "secret", Verdict: audit.Missing}
	for _, result := range []audit.Result{audit.Repaired, audit.Refused, audit.ChangedMeanwhile, audit.AlreadyEqual} {
		r.logRepair(t.Context(), "orders", &f, audit.Outcome{Result: result, Reason: "secret"})
	}
	text := log.text()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 2 || strings.Contains(text, "secret") || !strings.Contains(lines[0], `msg="an entry was repaired" sink=orders verdict=missing kind=row where="PK=masked-1"`) ||
		!strings.Contains(lines[1], "level=WARN") {
		t.Errorf("the log has\n%s", text)
	}
}
