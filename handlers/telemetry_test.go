package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// measured are the metrics that a reader has, as lines.
func measured(t *testing.T, r *metric.ManualReader) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	line := func(name string, set attribute.Set, value any) {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(name, "tablewake.handler."), set.Encoded(attribute.DefaultEncoder()), value))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Description == "" {
				t.Errorf("%s has no description", m.Name)
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					line(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					line(m.Name, p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: func(_ context.Context, key string) error {
			if key == "down" {
				return pipeline.Transient(errDown)
			}
			return nil
		}}
		time.Sleep(time.Until(time.Unix(1767323045+90, 0))) // the records are created, and get old
		server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b", "c")
		st.Trim(shard, 1)
		reader := metric.NewManualReader()
		h := All(assemble(t, s, nil), WithMeter(metric.NewMeterProvider(metric.WithReader(reader))), WithStreams(server), WithGaps(&lost{}),
			WithRedrive(func(context.Context) error { return nil }))
		bytes := 0
		for _, e := range []string{
			records("a", "b"), event(), records("a", "down", "c"), records("down"), `{}`, `{"tablewake":"redrive"}`,
			messages(given(st.ARN(), shard, seqs[0], seqs[2], 3), "x"),
		} {
			bytes += len(e)
			_, _ = h.Invoke(within(t, time.Minute), []byte(e))
		}
		got := measured(t, reader)
		want := strings.TrimSpace(fmt.Sprintf(`
age{pipeline=shop,source=dynamodb} 144
bytes{pipeline=shop,source=command} 23
bytes{pipeline=shop,source=dynamodb} %d
bytes{pipeline=shop,source=other} %d
bytes{pipeline=shop,source=sqs} %d
cuts{pipeline=shop,source=dynamodb} 2
invocations{outcome=failed,pipeline=shop,source=dynamodb} 1
invocations{outcome=failed,pipeline=shop,source=other} 1
invocations{outcome=partial,pipeline=shop,source=dynamodb} 1
invocations{outcome=partial,pipeline=shop,source=sqs} 1
invocations{outcome=success,pipeline=shop,source=command} 1
invocations{outcome=success,pipeline=shop,source=dynamodb} 1
invocations{outcome=success,pipeline=shop,source=other} 1
lost{pipeline=shop} 1
messages{outcome=failed,pipeline=shop} 1
messages{outcome=gap,pipeline=shop} 1
records{pipeline=shop,source=dynamodb} 6
returned{pipeline=shop,source=dynamodb} 3`,
			len(records("a", "b"))+len(records("a", "down", "c"))+len(records("down")), len(event())+len(`{}`),
			bytes-len(records("a", "b"))-len(records("a", "down", "c"))-len(records("down"))-len(event())-len(`{}`)-23))
		if got != want {
			t.Errorf("measured\n%s\nwant\n%s", got, want)
		}
	})
}

// The lost records of a message count once, when the message is finished, however often it came.
func TestMetrics_LostOnce(t *testing.T) {
	server, st, shard, seqs := stream(t, streamtest.Options{}, "a", "b", "c", "d")
	st.Trim(shard, 2)
	objects := bucket{"failed/aws/lambda/x": given(st.ARN(), shard, seqs[0], seqs[3], 4)}
	reader := metric.NewManualReader()
	h := OnFailure(assemble(t, &store{}, nil), WithMeter(metric.NewMeterProvider(metric.WithReader(reader))), WithStreams(server), WithGaps(&lost{}), WithObjects(objects))
	first, second := created("aws/lambda/x"), created("aws/lambda/y")
	both := strings.TrimSuffix(first, "]}") + "," + strings.TrimPrefix(second, `{"Records":[`)
	for _, want := range []string{"m1", "m1", ""} {
		if want == "" {
			objects["failed/aws/lambda/y"] = given(st.ARN(), shard, seqs[2], seqs[3], 2)
		}
		answer, err := h.Invoke(t.Context(), []byte(messages(both)))
		if err != nil || failures(t, answer) != want {
			t.Errorf("%s, %v", answer, err)
		}
	}
	if got := measured(t, reader); !strings.Contains(got, "\nlost{pipeline=shop} 2\n") {
		t.Errorf("measured\n%s", got)
	}
}
