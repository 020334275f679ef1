package function

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// An event that is no valid request of an audit is refused. The log says what to write instead.
func TestEventsOfAuditsAreChecked(t *testing.T) {
	for event, want := range map[string]string{
		`{"tablewake":"redrive"}`:                      "takes the command audit only",
		`{"Records":[]}`:                               `unknown field "Records"`,
		`{"tablewake":"audit","samples":2}`:            `unknown field "samples"`,
		`{"tablewake":"audit","sample":"2"}`:           "sample",
		`{"tablewake":"audit","sample":101}`:           `up to "segments", which is 100`,
		`{"tablewake":"audit","sample":-1}`:            `up to "segments", which is 100`,
		`{"tablewake":"audit","segments":0}`:           `"segments" must be 1 to 1000000`,
		`{"tablewake":"audit","segments":-5}`:          `"segments" must be 1 to 1000000`,
		`{"tablewake":"audit","segments":1000001}`:     `"segments" must be 1 to 1000000`,
		`{"tablewake":"audit","rcu":-1}`:               `"rcu" must not be negative`,
		`{"tablewake":"audit","lag":"soon"}`:           `"lag" must be a duration`,
		`{"tablewake":"audit","lag":"-1s"}`:            `"lag" must be a duration`,
		`{"tablewake":"audit","sinks":"rows"}`:         "sinks",
		`not JSON`:                                     "invalid character",
		`{"tablewake":"audit","sink":["a"],"sinks":0}`: `unknown field "sink"`,
	} {
		_, err := parseAuditEvent([]byte(event))
		if err == nil {
			t.Errorf("%s is taken", event)
			continue
		}
		if text := redact.LogText(err); !strings.Contains(text, want) || !strings.Contains(text, `write {"tablewake":"audit","sample":1`) {
			t.Errorf("%s: %s", event, text)
		}
	}
}

func TestEventsOfAuditsHaveDefaults(t *testing.T) {
	e, err := parseAuditEvent([]byte(`{"tablewake":"audit"}`))
	if err != nil || e.Sample != 1 || e.Segments != 100 || e.RCU != 500 || e.lag != time.Minute || e.Sinks != nil {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = parseAuditEvent([]byte(`{"tablewake":"audit","sample":3,"segments":7,"rcu":0,"lag":"90s","sinks":["a","b"]}`))
	if err != nil || e.Sample != 3 || e.Segments != 7 || e.RCU != 0 || e.lag != 90*time.Second || len(e.Sinks) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
}

// An audit ends before the timeout of its function, so that time is left to answer and to export its metrics.
func TestAnAuditEndsBeforeItsFunction(t *testing.T) {
	now := time.Now()
	for timeout, reserve := range map[time.Duration]time.Duration{15 * time.Minute: 30 * time.Second, time.Minute: 6 * time.Second} {
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(timeout))
		if got := auditDeadline(ctx, now); !got.Equal(now.Add(timeout - reserve)) {
			t.Errorf("of %s it leaves %s", timeout, now.Add(timeout).Sub(got))
		}
		cancel()
	}
	if got := auditDeadline(t.Context(), now); !got.IsZero() {
		t.Errorf("without a deadline it ends %s", got)
	}
}
