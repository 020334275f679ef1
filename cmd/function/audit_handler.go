package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// eventErrs makes the errors about events that request an audit.
const eventErrs = redact.Class("event")

// auditor is the handler of a function that audits samples of the table: it compares them with the sinks. It has no
// pipeline, because it only reads.
type auditor struct {
	cfg     *config.Config
	exts    []sinks.Extension
	sdk     awssdk.Config
	stores  sinks.Stores // opened read-only
	metrics *audit.Metrics
	log     *slog.Logger
}

var _ lambda.Handler = (*auditor)(nil)

func newAuditor(cfg *config.Config, exts []sinks.Extension, sdk awssdk.Config, stores sinks.Stores,
	meter metric.MeterProvider, log *slog.Logger) (*auditor, error) {
	if len(cfg.Source.Tables) > 1 {
		return nil, errors.New("the configuration has several source tables, and an audit covers one: give each table a file of its own")
	}
	metrics, err := audit.NewMetrics(meter, cfg.Name)
	if err != nil {
		log.Error("metrics of audits are incomplete", slog.String("error", err.Error()))
	}
	return &auditor{cfg, exts, sdk, stores, metrics, log}, nil
}

// Invoke implements [lambda.Handler]. The answer is the summary of the audit.
func (a *auditor) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	sum, err := a.audit(ctx, payload)
	if err != nil {
		a.metrics.Record(ctx, audit.MetricTotals{})
		return nil, &handlers.Error{Err: err}
	}
	totals := audit.MetricTotals{Complete: sum.Complete(), Coverage: sum.Coverage,
		Findings: map[string]map[audit.Verdict]int64{}}
	for _, s := range sum.Sinks {
		totals.Findings[s.Sink] = s.Findings
	}
	a.metrics.Record(ctx, totals)
	return json.Marshal(sum)
}

// audit runs the audit that an event requests, and logs the differences that it finds.
func (a *auditor) audit(ctx context.Context, payload []byte) (*run.Summary, error) {
	event, err := parseAuditEvent(payload)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tablewake-audit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	opened, err := audit.Open(ctx, a.cfg, a.stores, audit.Options{
		Sinks: event.Sinks, CommandFlags: "-c " + a.cfg.File + " --live", Extensions: a.exts,
	})
	if err != nil {
		// The text is safe to log: it has names of the configuration, and what AWS says about them.
		return nil, eventErrs.Errorf("the sinks cannot be audited: %s", redact.Safe(err.Error()))
	}
	differences := differenceLog{log: a.log}
	sum, err := run.AuditSample(ctx, run.SampledOptions{
		Config: a.cfg, SDK: a.sdk, Sinks: opened, Dir: dir, Sample: event.Sample, Segments: event.Segments,
		RCU: event.RCU, Lag: event.lag,
		Deadline: auditDeadline(ctx, time.Now()),
		OnRetry: func(err error, wait time.Duration) {
			a.log.WarnContext(ctx, "a request of the scan failed, and is repeated", slog.Duration("after", wait),
				slog.String("error", redact.LogText(err)))
		},
	}, differences.logFinding)
	if err != nil {
		return nil, err
	}
	sum.Report = "" // the report is deleted with its folder
	a.logSummary(ctx, sum)
	return sum, nil
}

// logSummary logs the result of an audit in one line.
func (a *auditor) logSummary(ctx context.Context, sum *run.Summary) {
	level, text := slog.LevelInfo, "the sample is equal"
	switch {
	case sum.Differing > 0:
		level, text = slog.LevelWarn, "sinks differ from the table: tablewake audit --live finds all differences"
	case !sum.Complete():
		level, text = slog.LevelWarn, "the audit is incomplete"
	}
	a.log.Log(ctx, level, text, slog.Int64("differing", sum.Differing), slog.Int64("open", sum.Open),
		slog.Float64("coverage", sum.Coverage), slog.Int64("items", sum.Items), slog.String("incomplete", sum.Incomplete))
}

// maxLoggedDifferences is the maximum number of differences that an audit logs.
const maxLoggedDifferences = 100

// differenceLog logs the differences that an audit finds. The keys in its lines are masked.
type differenceLog struct {
	log    *slog.Logger
	logged int
}

// logFinding logs a finding if it is a difference, even if a dead letter explains it. It logs up to
// maxLoggedDifferences findings.
func (d *differenceLog) logFinding(sink string, f *audit.Finding) error {
	isDifference := f.Verdict.Differs() || f.Verdict == audit.Held
	if !isDifference || d.logged == maxLoggedDifferences {
		return nil
	}
	d.logged++
	d.log.Warn("an entry differs", slog.String("sink", sink), slog.String("verdict", string(f.Verdict)),
		slog.String("kind", string(f.Kind)), slog.String("where", f.PlaceText))
	return nil
}

// An audit ends before the invocation does, because the answer and the metrics also need time. This reserve is a tenth
// of the invocation's time, up to maxAuditReserve.
const (
	auditReserveDivisor = 10
	maxAuditReserve     = 30 * time.Second
)

// auditDeadline returns the time at which an audit that starts now must end. It returns the zero time if the invocation
// has no deadline.
func auditDeadline(ctx context.Context, now time.Time) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	reserve := min(deadline.Sub(now)/auditReserveDivisor, maxAuditReserve)
	return deadline.Add(-reserve)
}

// auditEvent is the event that requests an audit.
type auditEvent struct {
	Command  string   `json:"tablewake"`
	Sample   int      `json:"sample"`   // default: 1
	Segments int      `json:"segments"` // default: 100
	Sinks    []string `json:"sinks"`    // default: all sinks that keep state
	RCU      float64  `json:"rcu"`      // default: 500; 0: no limit
	Lag      string   `json:"lag"`      // default: 1m

	lag time.Duration
}

// auditEventHint is a part of errors. It shows a correct event.
const auditEventHint = redact.Safe(
	`write {"tablewake":"audit","sample":1,"segments":100,"sinks":["NAME"],"rcu":500,"lag":"1m"}; all but "tablewake" can be left out`)

// maxSegments is the largest number of segments that DynamoDB accepts.
const maxSegments = 1_000_000

// parseAuditEvent returns the event with defaults for missing fields. If the event is wrong, the error says what to
// write.
func parseAuditEvent(payload []byte) (e auditEvent, err error) {
	e = auditEvent{Sample: 1, Segments: 100, RCU: 500, Lag: "1m"}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return e, eventErrs.Errorf("the event does not request an audit (%s): %s", redact.Safe(err.Error()), auditEventHint)
	}
	if e.Command != "audit" {
		return e, eventErrs.Errorf(`this function takes the command audit only: %s`, auditEventHint)
	}
	e.lag, err = time.ParseDuration(e.Lag)
	if err != nil || e.lag < 0 {
		return e, eventErrs.Errorf(`"lag" must be a duration such as "90s" or "5m": %s`, auditEventHint)
	}
	switch {
	case e.Segments < 1 || e.Segments > maxSegments || e.RCU < 0:
		return e, eventErrs.Errorf(`"segments" must be 1 to %d, and "rcu" must not be negative: %s`, maxSegments,
			auditEventHint)
	case e.Sample < 1 || e.Sample > e.Segments:
		return e, eventErrs.Errorf(`"sample" must be 1 up to "segments", which is %d: %s`, e.Segments, auditEventHint)
	}
	return e, nil
}
