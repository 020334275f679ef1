package servers

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/faults"
)

// Whatever goes wrong between the pipeline and its servers, the end is that of a clean
// pass, and both ledgers balance.
func TestFaultsOfTheNetwork(t *testing.T) {
	t.Parallel()
	records := begun(t, 150)
	for _, f := range faults.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, running(t))
			between, to := proxied(t, w.to)
			cfg := w.shop(t, to)
			p := w.worker(t, cfg, to)
			for _, b := range between {
				if err := b.Begin(f, 700*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			pass(t, p, records)
			same(t, w.read(t, cfg), embedded(t, cfg, w.names, records))
		})
	}
}

// One fault after the other, at one server after the other, while two workers deliver.
func TestAnEvilNetwork(t *testing.T) {
	t.Parallel()
	records := begun(t, 200)
	w := newWorld(t, running(t))
	between, to := proxied(t, w.to)
	cfg := w.shop(t, to)
	first, second := w.worker(t, cfg, to), w.worker(t, cfg, to)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(t, first, records)
		pass(t, second, records[rand.IntN(len(records)):])
	}()
	all := faults.All()
	for round := 0; ; round++ {
		select {
		case <-done:
			same(t, w.read(t, cfg), embedded(t, cfg, w.names, records))
			return
		case <-time.After(150 * time.Millisecond):
		}
		if round < 40 {
			f, b := all[rand.IntN(len(all))], between[rand.IntN(len(between))]
			if err := b.Begin(f, 400*time.Millisecond); err != nil {
				t.Error(err)
			}
		}
	}
}
