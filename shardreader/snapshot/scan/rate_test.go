package scan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// options are those of a scan with one segment.
func options(retry func(error, time.Duration)) scan.Options {
	return scan.Options{Table: "shop", Segments: 1, OnRetry: retry}
}

// A scan consumes its read capacity within 5 %, whatever pages cost and however long answers take. At no moment has it
// consumed more than a second and two pages in advance, however many segments are read at once.
func TestScan_KeepsToItsRCU(t *testing.T) {
	full := func(int, int) float64 { return 256 }
	for _, test := range []struct {
		name     string
		rcu      float64
		segments int
		pages    func(segment int) int
		units    func(segment, page int) float64
		latency  time.Duration
	}{
		{"one segment", 1000, 1, always(400), full, 10 * time.Millisecond},
		{"many at once", 1000, 16, always(40), full, 30 * time.Millisecond},
		{"more than a page a second", 20_000, 64, always(150), full, 50 * time.Millisecond},
		{"less than a page a second", 25, 8, always(10), full, 10 * time.Millisecond},
		{"segments of very different sizes", 500, 32, func(s int) int { return s * s / 8 }, full, 20 * time.Millisecond},
		{"pages of any cost", 800, 8, always(120), func(s, p int) float64 {
			return 0.5 + float64(rand.New(rand.NewPCG(uint64(s), uint64(p))).IntN(511))/2
		}, 5 * time.Millisecond},
		{"no cost in the answers", 200, 4, always(30), func(int, int) float64 { return -1 }, time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := &fakeTable{pages: test.pages, units: test.units, latency: test.latency}
				if test.units(0, 0) < 0 {
					table.padding = 1 << 20
				}
				s := open(t, table.client(), scan.Options{Table: "shop", Segments: test.segments, RCU: test.rcu})
				began := time.Now()
				table.spends = func(units float64) {
					if most := test.rcu*(time.Since(began).Seconds()+1) + 2*256; units > most {
						t.Errorf("%.0f units after %v, want %.0f at most", units, time.Since(began), most)
					}
				}
				readAll(t, s)
				spent := table.spent
				if spent == 0 {
					spent = float64(table.calls) * 257
				}
				rate := spent / table.last.Sub(began).Seconds()
				if rate < test.rcu*0.95 || rate > test.rcu*1.05 {
					t.Errorf("%.0f units at %.1f a second, want %.0f", spent, rate, test.rcu)
				}
			})
		})
	}
}

// A throttled table is not asked at once again, and each reader waits longer.
func TestScan_BacksOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		table := &fakeTable{pages: always(1)}
		table.fault = func(call int, _ string) (int, string, http.Header, error) {
			return 400, refusal("ProvisionedThroughputExceededException"), nil, nil
		}
		var waits []time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		s := open(t, table.client(), options(func(_ error, wait time.Duration) { waits = append(waits, wait) }))
		if _, err := readPart(ctx, s, "0000/0001", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if len(waits) < 10 || waits[0] > time.Second || slices.Max(waits) < 5*time.Second || slices.Max(waits) > 20*time.Second {
			t.Errorf("the waits are %v", waits)
		}
	})
}

// A failure costs nothing: the units of a failed request are available for the next.
func TestScan_FailuresCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &fakeTable{pages: always(100), latency: time.Millisecond}
		served := 0
		table.fault = func(call int, _ string) (int, string, http.Header, error) {
			if call%3 != 0 {
				table.spent -= 256
				return 400, refusal("ProvisionedThroughputExceededException"), nil, nil
			}
			served++
			return 0, "", nil, nil
		}
		s := open(t, table.client(), scan.Options{Table: "shop", Segments: 1, RCU: 50})
		began := time.Now()
		readAll(t, s)
		if rate := table.spent / time.Since(began).Seconds(); served != 100 || rate < 50*0.9 {
			t.Errorf("%d pages at %.1f units a second, want 50", served, rate)
		}
	})
}

// A reader that waits for capacity, for an answer or to repeat a request ends with its context.
func TestScan_EndsWithItsContext(t *testing.T) {
	for _, rcu := range []float64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			table := &fakeTable{pages: always(3), latency: time.Second}
			s := open(t, table.client(), scan.Options{Table: "shop", Segments: 2, RCU: rcu})
			why := errors.New("stopping")
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error)
			for _, part := range s.Parts() {
				go func() {
					_, err := readPart(ctx, s, part.ID, "")
					ended <- err
				}()
			}
			time.Sleep(1500 * time.Millisecond)
			cancel(why)
			for range 2 {
				if err := <-ended; !errors.Is(err, why) {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

// BenchmarkScan measures what this machine does for a page of 1 MB, without a network.
func BenchmarkScan(b *testing.B) {
	table := &fakeTable{pages: always(1)}
	answer := []byte(`{"Count":2000,"Items":[`)
	for i := range 2000 {
		answer = fmt.Appendf(answer, `{"PK":{"S":"customer-%d"},"SK":{"N":"%d"},"Type":{"S":"Order"},"text":{"S":"%0400d"}},`, i, i, i)
	}
	answer = append(answer[:len(answer)-1], `],"ScannedCount":2000,"ConsumedCapacity":{"CapacityUnits":128},"LastEvaluatedKey":{"PK":{"S":"customer-1999"},"SK":{"N":"1999"}}}`...)
	table.fault = func(int, string) (int, string, http.Header, error) { return 200, string(answer), nil, nil }
	s := open(b, table.client(), options(nil))
	r, err := s.Open(b.Context(), "0000/0001", "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		table.asked = table.asked[:0]
		if _, err := r.Read(b.Context()); err != nil && !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
