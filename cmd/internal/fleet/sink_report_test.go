package fleet

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// A shard whose reads fail is a problem. It is then unknown whether the shard is behind.
func TestReport_FailingReads(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := Observation{Pipeline: "shop", At: at, Leases: leases.Snapshot{
		Leases:  []leases.Lease{{Shard: "s1", Stream: "arn", Owner: "w1", Checkpoint: leases.After("1"), Time: at.Add(-30 * time.Hour)}},
		Members: []leases.Member{{ID: "w1", LeaseCount: 1, Failing: map[string]leases.ReadFailure{"s1": {Since: at.Add(-50 * time.Second), Class: "unavailable"}}}},
	}}
	r := l.Report()
	var text strings.Builder
	r.Write(&text, false)
	for _, want := range []string{"READS FAIL for 50s", "unknown", "PROBLEM shard s1 cannot be read for 50s: all calls fail (unavailable)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	if r.Healthy || r.Shards[0].Behind != nil || len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
}

// A fleet is not healthy while a sink fails or there are dead letters. An unknown number is not reported as zero.
func TestReport_SinksAndLetters(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	oldest := at.Add(-time.Hour)
	members := leases.Snapshot{Members: []leases.Member{{ID: "w1"}}}
	note := func(s state.FailingSink) []state.HeldBack {
		return []state.HeldBack{{Consumer: "w1", Sinks: []state.FailingSink{s}}}
	}
	for name, test := range map[string]struct {
		observed Observation
		healthy  bool
		says     []string
	}{
		"well":      {Observation{Letters: &Letters{}}, true, []string{"all is well"}},
		"a sink":    {Observation{HeldBack: note(state.FailingSink{Sink: "orders", Pending: 240, Oldest: &oldest, Failing: at.Add(-30 * time.Second), Error: "refused: no"})}, false, []string{"PROBLEM sink orders has failed for 30", "240", "refused: no", "1h"}},
		"not known": {Observation{HeldBack: note(state.FailingSink{Sink: "orders", Pending: 1, Failing: at})}, false, []string{"unknown"}},
		"blocked":   {Observation{HeldBack: note(state.FailingSink{Sink: "orders", Failing: at, Blocked: 3})}, false, []string{"3 keys are blocked", "no dead letters"}},
		"hangs": {Observation{HeldBack: []state.HeldBack{{Consumer: "w1", Total: 2, Worst: []state.HeldBackReason{
			{Shard: "s2", Sink: "orders", Reason: pipeline.HeldByWriting, Since: at.Add(-31 * time.Second)},
			{Shard: "s1", Sink: "orders", Reason: pipeline.HeldByWriting, Since: at.Add(-70 * time.Second)},
		}}}}, false, []string{"PROBLEM sink orders does not answer", "lasted for 1m10s", "of 2 shards", "the first is s1"}},
		"no letters": {Observation{HeldBack: []state.HeldBack{{Consumer: "w1", Total: 1, Worst: []state.HeldBackReason{{Shard: "s", Reason: pipeline.HeldByWriting, Since: at}}}}}, false,
			[]string{"PROBLEM the dead letters do not answer", "(dead letters)"}},
		"slow": {Observation{HeldBack: []state.HeldBack{{Consumer: "w1", Total: 1, Worst: []state.HeldBackReason{{Shard: "s", Sink: "orders", Reason: pipeline.HeldByShare, Since: at}}}}}, true,
			[]string{"all is well"}},
		"letters":     {Observation{Letters: &Letters{Sinks: map[string]int{"orders": 7, "": 2}, Keys: map[string]int{"orders": 1}}}, false, []string{"PROBLEM 9 changes", "7 of orders", "2 of every sink", "quarantined keys: 1 of orders", "redrive", "--list"}},
		"many":        {Observation{Letters: &Letters{Sinks: map[string]int{"orders": 10_000}, Truncated: true}}, false, []string{"more than 10,000"}},
		"quarantined": {Observation{Letters: &Letters{Keys: map[string]int{"orders": 1}}}, false, []string{"PROBLEM 1 key is quarantined"}},
		"a queue":     {Observation{Letters: &Letters{Unknown: "it is a queue"}}, true, []string{"dead letters: unknown: it is a queue"}},
		"not counted": {Observation{Letters: &Letters{Unknown: "no answer", Failed: true}}, false, []string{"PROBLEM dead letters could not be counted: no answer"}},
		"not looked":  {Observation{Unknown: []ReadFailure{{"what sinks wrote", errors.New("throttled")}}}, false, []string{"PROBLEM what sinks wrote could not be looked at: throttled"}},
		"no leases":   {Observation{NoTable: "shop-leases", Flags: "-c shop.yaml --live"}, false, []string{"PROBLEM the lease table shop-leases is gone: 1 consumer lives", "read from source.start"}},
		"none":        {Observation{Letters: &Letters{NotConfigured: true}}, true, []string{"dead letters: none are configured"}},
	} {
		test.observed.Pipeline, test.observed.At, test.observed.Leases = "shop", at, members
		r := test.observed.Report()
		var text strings.Builder
		r.Write(&text, false)
		if r.Healthy != test.healthy {
			t.Errorf("%s: healthy is %v", name, r.Healthy)
		}
		for _, want := range test.says {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is not in %s", name, want, text.String())
			}
		}
	}
}

// Counts stay known if the rest could not be counted. The limit of letters does not hide an error of the keys.
func TestLetters_SetUnknown(t *testing.T) {
	late, cancel := context.WithTimeoutCause(t.Context(), 0, cli.NoAnswerError(countTimeout))
	defer cancel()
	<-late.Done()
	broken := errors.New("the state is damaged")
	for name, tt := range map[string]struct {
		ctx       context.Context
		some      bool
		err, keys error
		want      Letters
	}{
		"all":             {t.Context(), true, nil, nil, Letters{}},
		"many":            {t.Context(), true, errMaxLetters, nil, Letters{Truncated: true}},
		"many, and keys":  {t.Context(), true, errMaxLetters, broken, Letters{Truncated: true, Unknown: broken.Error(), Failed: true}},
		"slow":            {late, true, late.Err(), nil, Letters{Truncated: true}},
		"slow, of none":   {late, false, late.Err(), nil, Letters{Unknown: "no answer for 5s: context deadline exceeded", Failed: true}},
		"a queue":         {t.Context(), false, uncountable("it is a queue"), nil, Letters{Unknown: "it is a queue"}},
		"only the keys":   {t.Context(), true, nil, broken, Letters{Unknown: broken.Error(), Failed: true}},
		"only the folder": {t.Context(), false, broken, nil, Letters{Unknown: broken.Error(), Failed: true}},
	} {
		var l Letters
		if tt.some {
			l.Sinks = map[string]int{"orders": 1}
			tt.want.Sinks = l.Sinks
		}
		if l.setUnknown(tt.ctx, tt.err, tt.keys); !reflect.DeepEqual(l, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, l, tt.want)
		}
	}
}
