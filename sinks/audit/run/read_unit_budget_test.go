package run

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// A budget halves its rate once for all requests that are throttled at the same time. Later it raises the rate again,
// but not above the given rate.
func TestBudget_GivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []float64
		b := NewBudget(100)
		b.setOnSlowed(func(rate float64) { told = append(told, rate) })
		spend := func(units float64, want time.Duration) {
			t.Helper()
			begun := time.Now()
			if err := b.Spend(t.Context(), units); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took < want*9/10 || took > want*11/10 {
				t.Errorf("%.0f units took %v, want about %v", units, took, want)
			}
		}
		spend(200, 0)
		spend(100, time.Second)
		for range 10 {
			b.Throttled(nil, 0)
		}
		spend(100, 2*time.Second) // the rate is 50 units a second
		time.Sleep(time.Second)
		b.Throttled(nil, 0)
		if len(told) != 2 || told[0] != 50 || told[1] < 25 || told[1] > 30 {
			t.Errorf("it was slowed to %v, want 50, and half of a little more", told)
		}
		time.Sleep(time.Hour)
		spend(200, 0)
		spend(300, 3*time.Second)
		if b.Units() != 900 {
			t.Errorf("%.0f units were used, want 900", b.Units())
		}
	})
}

// If a budget has no limit, the first throttled request sets a limit of half the current rate.
func TestBudget_WithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, rate := NewBudget(0), 0.0
		b.setOnSlowed(func(r float64) { rate = r })
		for range 30 { // 1,000 units a second
			if err := b.Spend(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		b.Throttled(nil, 0)
		if rate < 400 || rate > 600 {
			t.Errorf("it was slowed to %.0f units a second, want half of 1,000", rate)
		}
	})
}

// throttledTable refuses the first requests. It answers each later request with only the first of the requested items.
type throttledTable struct {
	refusals int
	units    float64 // of an answer. Default: 1
	asked    []time.Time
}

func (t *throttledTable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	t.asked = append(t.asked, time.Now())
	if t.refusals--; t.refusals >= 0 {
		return nil, &smithy.GenericAPIError{Code: "ProvisionedThroughputExceededException"}
	}
	keys := in.RequestItems["t"]
	out := &dynamodb.BatchGetItemOutput{
		Responses:        map[string][]map[string]types.AttributeValue{"t": {keys.Keys[0]}},
		ConsumedCapacity: []types.ConsumedCapacity{{CapacityUnits: aws.Float64(cmp.Or(t.units, 1))}},
	}
	if left := keys.Keys[1:]; len(left) > 0 {
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{"t": {Keys: left}}
	}
	return out, nil
}

// The lookup repeats throttled reads at a lower rate until they succeed or the audit ends.
func TestTableLookup_Throttled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []float64
		b := NewBudget(1000)
		b.setOnSlowed(func(rate float64) { told = append(told, rate) })
		table := &throttledTable{refusals: 20}
		o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "t"}, Keys: []string{"PK"}}
		lookup := NewTableLookup(table, "t", o, b)
		var keys []item.Key
		for i := range 25 {
			keys = append(keys, item.Key("k"+string(rune('a'+i))))
		}
		items, err := lookup.Read(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, it := range items {
			if it.Err != nil || it.Change.Key != keys[i] || it.Change.Removed() {
				t.Errorf("%s: %+v", keys[i], it)
			}
		}
		if len(table.asked) != 45 || len(told) < 2 || told[0] != 500 || told[1] > 400 {
			t.Errorf("%d requests, slowed to %v", len(table.asked), told)
		}

		// a response that is full is no throttling
		var slowed []float64
		full := &throttledTable{units: 4000}
		unlimited := NewBudget(0)
		unlimited.setOnSlowed(func(rate float64) { slowed = append(slowed, rate) })
		began := time.Now()
		if _, err := NewTableLookup(full, "t", o, unlimited).Read(t.Context(), keys); err != nil || len(full.asked) != 25 ||
			len(slowed) > 0 || time.Since(began) > 0 {
			t.Errorf("%d requests in %s, slowed to %v: %v", len(full.asked), time.Since(began), slowed, err)
		}

		table.refusals = 1 << 30
		why := errors.New("the audit ends")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, why)
		defer cancel()
		if _, err := lookup.Read(ctx, keys); !errors.Is(err, why) {
			t.Errorf("%v, want %v", err, why)
		}
	})
}
